"""The web page: whole without scripts, live with them, harmless whatever agents write, and open to nobody else."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

Join = Callable[..., Any]

TOKENS: dict[int, str] = {}  # of each port that serves


def sent(port: int, headers: dict[str, str]) -> dict[str, str]:
    """The headers as they go out, with the cookie of one who has opened the printed address."""
    cookie = f"refbus_{TOKENS[port][:8]}={TOKENS[port]}"
    return {"Cookie": cookie, **{name.replace("_", "-"): said for name, said in headers.items()}}


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """A real server on the test's database."""
    command = [sys.executable, "-m", "refbus.cli", "topics", "--db", str(tmp_path / "bus.sqlite"), "web", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process, process.stdout as said:
        address = urlsplit(said.readline().strip())
        assert address.port
        TOKENS[address.port] = address.query.removeprefix("token=")
        yield address.port
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)


def get(port: int, path: str, **headers: str) -> tuple[int, str, Any]:
    """Status, body and headers of a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=sent(port, headers))
        response = connection.getresponse()
        return response.status, response.read().decode(), response.headers


def events(port: int, path: str, count: int, meanwhile: Callable[[], object], **headers: str) -> list[Any]:
    """The first events of a stream; `meanwhile` runs after the first."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=sent(port, headers))
        response = connection.getresponse()
        assert response.headers["Content-Type"].startswith("text/event-stream")
        found: list[Any] = []
        deadline = time.monotonic() + 60
        while len(found) < count:
            assert time.monotonic() < deadline, found
            line = response.readline().decode()
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
                if len(found) == 1:
                    meanwhile()
        return found


def test_pages_show_topics_messages_and_what_is_searched_for(join: Join, port: int) -> None:
    """Without any script."""
    alice, bob = join("alice"), join("bob")
    alice.sync("a needle & a <thread>")
    bob.bus.topic_close(bob.bus.topic_create(name="old")["topic_id"], reason="done")
    status, said, headers = get(port, "/")
    assert status == 200 and said.index(">lane<") < said.index(">old<")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    status, said, _ = get(port, f"/topics/{alice.topic_id}")
    assert status == 200 and "a needle &amp; a &lt;thread&gt;" in said and "alice" in said
    status, said, _ = get(port, "/search?q=needle+thread")
    assert status == 200 and f"/topics/{alice.topic_id}?after=0" in said
    assert "Nothing found" in get(port, "/search?q=absent")[1]
    assert get(port, "/search")[0] == 200
    for name in ("/page.css", "/page.js"):
        assert get(port, name)[0] == 200


def test_a_long_topic_is_shown_a_hundred_messages_at_a_time(join: Join, port: int) -> None:
    """The newest first, and a way back and forth."""
    alice = join("alice")
    for _ in range(5):
        alice.sync(*["x"] * 50)
    path = f"/topics/{alice.topic_id}"
    said = get(port, path)[1]
    assert 'id="m151"' in said and 'id="m250"' in said and 'id="m150"' not in said and "?after=50" in said
    said = get(port, f"{path}?after=50")[1]
    assert 'id="m51"' in said and 'id="m151"' not in said and "?after=150" in said and "data-events" not in said
    assert 'id="m1"' in get(port, f"{path}?after=0")[1]
    assert get(port, f"{path}?after=x")[0] == get(port, f"{path}?after=9999")[0] == 200


def test_new_messages_come_as_events(join: Join, port: int) -> None:
    """From where a browser was cut off."""
    alice = join("alice")
    alice.sync("1", "2")
    path = f"/topics/{alice.topic_id}/events"
    found = events(port, f"{path}?after=1", 3, lambda: alice.sync("3", "<b>4</b>"))
    assert ["<pre>2</pre>" in found[0], "<pre>3</pre>" in found[1], "&lt;b&gt;4" in found[2]] == [True] * 3
    (found,) = events(port, f"{path}?after=1", 1, lambda: None, Last_Event_ID="3")
    assert 'id="m4"' in found


def test_the_list_of_topics_is_live(join: Join, port: int) -> None:
    """Anew at every change."""
    alice = join("alice")
    found = events(port, "/events", 2, lambda: alice.bus.topic_create(name="another"))
    assert "lane" in found[0] and "another" not in found[0] and "another" in found[1]


def test_only_this_machine_reads_and_nobody_writes(join: Join, port: int) -> None:
    """No other host name, no other method, no unknown topic."""
    join("alice")
    assert get(port, "/", Host="evil.example")[0] == 400
    assert get(port, "/topics/0123456789")[0] == 404
    assert get(port, "/topics/0123456789/events")[0] == 404
    assert get(port, "/search?q=" + "x" * 2000)[0] == 400
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):
        for method in ("POST", "PUT", "DELETE"):
            connection.request(method, "/", headers=sent(port, {}))
            response = connection.getresponse()
            response.read()
            assert response.status == 405


def test_the_pages_are_for_those_who_were_given_the_address(join: Join, port: int) -> None:
    """Another user of the machine finds the port, and nothing on it. The token leaves the address at once."""
    topic_id, token = join("alice").topic_id, TOKENS[port]
    for path in ("/", f"/topics/{topic_id}", f"/topics/{topic_id}/events", "/events", "/search?q=a", "/page.js"):
        for cookie in ("", "refbus_=", f"refbus_{token[:8]}={token[:8]}", f"refbus_{token[:8]}=\u00e9"):
            assert get(port, path, Cookie=cookie)[0] == 403
    assert get(port, f"/?token={token[:-1]}", Cookie="")[0] == 403
    status, _, headers = get(port, f"/search?token={token}&q=a", Cookie="")
    assert (status, headers["Location"]) == (303, f"http://127.0.0.1:{port}/search?q=a")
    assert headers["Set-Cookie"].split("; ")[0] == f"refbus_{token[:8]}={token}"
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=strict" in headers["Set-Cookie"]


class Browser:
    """A headless Chromium, over its debugging pipe."""

    def __init__(self, profile: Path) -> None:
        command_reader, self._commands = os.pipe()
        self._answers, answer_writer = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$@" 3<&{command_reader} 4>&{answer_writer}',
                "bash",
                "chromium",
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                f"--user-data-dir={profile}",
                "--remote-debugging-pipe",
            ],
            pass_fds=(command_reader, answer_writer),
            stderr=subprocess.DEVNULL,
        )
        os.close(command_reader)
        os.close(answer_writer)
        self._left, self._id = b"", 0

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """One command and its answer."""
        self._id += 1
        said = {"id": self._id, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._commands, json.dumps(said).encode() + b"\0")
        while True:
            while b"\0" not in self._left:
                self._left += os.read(self._answers, 65536)
            line, _, self._left = self._left.partition(b"\0")
            answer = json.loads(line)
            if answer.get("id") == self._id:
                return answer["result"]  # type: ignore[no-any-return]

    def open(self, url: str) -> Callable[[str], Any]:
        """A page; what is returned evaluates an expression in it."""
        target = self.call("Target.createTarget", url=url)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return lambda expression: self.call("Runtime.evaluate", session, expression=expression, returnByValue=True)[
            "result"
        ].get("value")

    def close(self) -> None:
        os.close(self._commands)
        self._process.wait(timeout=20)
        os.close(self._answers)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium")
def test_a_real_browser_shows_messages_as_they_come(join: Join, port: int, tmp_path: Path) -> None:
    """Live, as text, and whatever they hold runs nothing."""
    alice = join("alice")
    alice.sync("first")
    browser = Browser(tmp_path / "profile")
    with contextlib.closing(browser):
        page = browser.open(f"http://127.0.0.1:{port}/topics/{alice.topic_id}?token={TOKENS[port]}")

        def wait_for(expression: str) -> None:
            deadline = time.monotonic() + 30
            while not page(expression):
                assert time.monotonic() < deadline, page("document.documentElement.outerHTML")
                time.sleep(0.05)

        wait_for("document.getElementById('live')?.textContent === 'live'")
        evil = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"
        alice.sync(evil, "last")
        wait_for("document.querySelectorAll('article').length === 3")
        assert page("[...document.querySelectorAll('pre')].map(pre => pre.textContent)") == ["first", evil, "last"]
        assert page("document.title") == "lane" and page("document.images.length") == 0
