// Fragments of the page, as the server sends them.
const place = document.querySelector("[data-events]");
if (place) {
  const live = document.getElementById("live");
  const events = new EventSource(place.dataset.events);
  const say = (text, on) => { live.hidden = false; live.textContent = text; live.classList.toggle("on", on); };
  events.onopen = () => say("live", true);
  events.onerror = () => say("reconnecting…", false);
  events.addEventListener("whole", (event) => { place.innerHTML = JSON.parse(event.data); });
  events.addEventListener("message", (event) => {
    const bottom = innerHeight + scrollY >= document.body.scrollHeight - 40;
    place.insertAdjacentHTML("beforeend", JSON.parse(event.data));
    if (bottom) scrollTo(0, document.body.scrollHeight);
  });
}
