// Makes a whole page live: fragments of the same page, as the server sends them; times in the reader's own zone.
const live = document.getElementById("live");
const title = document.title;

function localTimes(root) {
  for (const time of root.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    const minutes = Math.round((Date.now() - at) / 60000);
    time.title = at.toLocaleString();
    time.textContent = minutes < 1 ? "just now" : minutes < 60 ? `${minutes} min ago`
      : minutes < 1440 ? `${Math.round(minutes / 60)} h ago` : at.toLocaleDateString();
  }
}

function follow(place) {
  const events = new EventSource(place.dataset.events);
  const pill = document.getElementById("new");
  let unseen = 0;
  const say = (text, on) => { live.hidden = false; live.textContent = text; live.classList.toggle("on", on); };
  const isAtEnd = () => innerHeight + scrollY >= document.body.scrollHeight - 60;
  const toEnd = () => scrollTo(0, document.body.scrollHeight);
  const count = (number) => {
    unseen = number;
    document.title = number ? `(${number}) ${title}` : title;
    if (pill) { pill.hidden = !number; pill.textContent = `${number} new ↓`; }
  };
  events.onopen = () => say("live", true);
  events.onerror = () => say("reconnecting…", false);
  events.addEventListener("whole", (event) => { place.innerHTML = JSON.parse(event.data); localTimes(place); });
  events.addEventListener("aside", (event) => {
    const aside = document.getElementById("aside");
    aside.innerHTML = JSON.parse(event.data);
    localTimes(aside);
  });
  events.addEventListener("message", (event) => {
    const wasAtEnd = isAtEnd() && !document.hidden;
    place.insertAdjacentHTML("beforeend", JSON.parse(event.data));
    localTimes(place.lastElementChild);
    if (wasAtEnd) toEnd(); else count(unseen + 1);
  });
  if (pill) {
    pill.onclick = () => { toEnd(); count(0); };
    addEventListener("scroll", () => { if (unseen && isAtEnd()) count(0); }, { passive: true });
    // A topic opens at its newest message, unless the address names one.
    if (!location.hash && !new URLSearchParams(location.search).has("after")) toEnd();
  }
}

// A link to a message that this page shows does not load the page again.
addEventListener("click", (event) => {
  const link = event.target.closest("a[href*='#m']");
  if (link && link.pathname === location.pathname && document.querySelector(link.hash)) {
    event.preventDefault();
    location.hash = link.hash;
  }
});
localTimes(document);
setInterval(() => localTimes(document), 30000);
document.getElementById("zone").textContent = "times are local";
const place = document.querySelector("[data-events]");
if (place) follow(place);
