"""Bent requests to the page server: each is answered, never by a fault of the server's, and changes nothing."""

from __future__ import annotations

import contextlib
import http.client
import random
import socket
import threading
from pathlib import Path
from urllib.parse import quote

from reference.tests.fuzz.bending import ODD
from reference.tests.fuzz.playing import ANSWER_S, Fault, Tally
from reference.tests.fuzz.watching import Watch
from reference.tests.topics.web.served import page_server, sent

from refbus.topics.bus import TopicsBus

LOOKS = 500  # between two looks at the whole database
BODIES = (
    *("", "plain", "# head\n\n- a\n- b\n\n```py\nx = 1\n```", "<script>alert(1)</script>", "[x](javascript:alert(1))"),
    *(
        "![x](http://192.0.2.1/x.png)",
        "a\x1b[2Jb",
        "\u202eabc",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "`" * 300,
        "> " * 200,
    ),
    *("&#x0;&#xD800;&amp", "\ufffe\uffff", "\u6f22\u5b57 \U0001f600"),
)
HEAVY = ("[" * 2000, "*" * 3000, "<" * 500, "x" * 60_000)  # dear to render: on one topic, asked for now and then
METHODS = ("HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", "X", "PROPFIND")
HEADERS = ("Last-Event-ID", "Range", "If-Range", "If-None-Match", "Cookie", "Accept", "X-Forwarded-Host", "Referer")


def web(calls: int, seed: str, folder: Path) -> Tally:
    """Ask a server on a filled database."""
    rng, tally = random.Random(f"{seed} web"), Tally()
    database = folder / "bus.sqlite"
    ids = _filled(database)
    with page_server(database) as (port, process), contextlib.closing(Watch(database)) as watch:
        watch.begin()
        words: list[str] = []  # of the server, which would wait for a reader once it has said too much
        assert process.stderr is not None
        threading.Thread(target=words.extend, args=(process.stderr,), daemon=True).start()
        browser = Browser(port)
        while tally.total() < calls:
            request = _request(rng, ids, port)
            try:
                status = browser.ask(request)
            except OSError as error:
                raise Fault(f"{error!r}\n{request[:3000]!r}") from error
            tally[str(status)] += 1
            if not 200 <= status < 500 or process.poll() is not None or "Traceback" in "".join(words):
                raise Fault(f"{status}\n{request[:3000]!r}\n{''.join(words)[-3000:]}")
            if tally.total() % LOOKS == 0 and (table := watch.stored()):
                raise Fault(f"{table} is another since the last {LOOKS} requests; the last was {request[:3000]!r}")
        browser.leave()
    return tally


class Browser:
    """One connection, kept as long as the server keeps it. A stream of events is left after its first bytes."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def ask(self, request: bytes) -> int:
        """The status of the answer, which was read to its end."""
        kept = self._socket is not None
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), ANSWER_S)
        method = request.split(b" ", 1)[0].decode("latin-1")
        try:
            self._socket.sendall(request)
            with contextlib.closing(http.client.HTTPResponse(self._socket, method=method)) as response:
                response.begin()
                is_stream = response.headers.get("Content-Type", "").startswith("text/event-stream")
                if not is_stream:
                    response.read()
                if is_stream or response.will_close:
                    self.leave()
                return response.status
        except (ConnectionError, http.client.RemoteDisconnected):
            self.leave()
            if kept:  # it was closed while nobody asked
                return self.ask(request)
            raise

    def leave(self) -> None:
        """Close it."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None


def _filled(database: Path) -> list[str]:
    """Topics with all the content that pages must live with; their ids."""
    with TopicsBus(database) as bus:
        ids = []
        for name in ("lane", "\u6f22\u5b57 <b>", "x" * 200):
            topic_id = bus.topic_create(name)["topic_id"]
            bus.topic_join("ann <i>", topic_id=topic_id)
            for number, body in enumerate(BODIES if ids else HEAVY):
                kind = ("question", "note\"'>")[number % 2]
                bus.sync(topic_id, outbox=[{"content_markdown": body or " ", "message_type": kind}], wait_seconds=0)
            ids.append(topic_id)
        bus.messages_search("plain", mode="fts")
    return ids


def _request(rng: random.Random, ids: list[str], port: int) -> bytes:
    topic = rng.choice(ids[1:]) if rng.random() < 0.98 else ids[0]
    path = rng.choice(
        ("/", "/events", "/search", f"/topics/{topic}", f"/topics/{topic}/events", "/page.css", "/page.js", "/icon.svg")
    )
    if rng.random() < 0.3:
        parts = path.split("/")
        parts[rng.randrange(len(parts))] = _text(rng)
        path = "/" + "/".join(parts).lstrip("/")
    names = rng.sample(("q", "from", "after", "sender", "message_type", "token", "x"), rng.randrange(4))
    query = "&".join(f"{name}={_text(rng)}" for name in names)
    method = rng.choice(METHODS) if rng.random() < 0.1 else "GET"
    headers = {"Host": f"127.0.0.1:{port}", **sent(port, {})}
    for name in rng.sample(HEADERS, rng.choice((0, 0, 1, 2))):
        if name != "Cookie" or rng.random() < 0.2:
            headers[name] = rng.choice(("bytes=0-", "bytes=5-2,9-", "*", "7", quote(_text(rng))[:2000] or "0"))
    lines = [f"{method} {path}{'?' if query else ''}{query} HTTP/1.1", *(f"{n}: {v}" for n, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def _text(rng: random.Random) -> str:
    """A value as it stands in an address: as browsers write it, doubled, or cut within a character."""
    odd = str(rng.choice((*ODD[:24], *ODD[26:], *("plain", "ann <i>", "question", "a AND", 'q"', "1", "5", "0"))))[
        :3000
    ]
    text = quote(odd.encode("utf-8", "surrogatepass"), safe="")
    match rng.randrange(8):
        case 0:
            return quote(text, safe="")
        case 1:
            return text + "%ff%C3"
        case 2:
            return text[: rng.randrange(len(text) + 1)]
    return text
