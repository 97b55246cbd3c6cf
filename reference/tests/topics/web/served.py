"""A page server on a test's database, asked as a browser would ask it."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

TOKENS: dict[int, str] = {}  # of each port that serves


@contextlib.contextmanager
def page_server(database: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Its port and its process. The token of its printed address is kept in TOKENS."""
    command = [sys.executable, "-m", "refbus", "topics", "--db", str(database), "web", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        address = urlsplit(process.stdout.readline().strip())
        assert address.port
        TOKENS[address.port] = address.query.removeprefix("token=")
        try:
            yield address.port, process
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)
        finally:
            process.kill()  # a test that failed leaves none


def sent(port: int, headers: dict[str, str]) -> dict[str, str]:
    """The headers as they go out, with the cookie of one who has opened the printed address."""
    cookie = f"refbus_{TOKENS[port][:8]}={TOKENS[port]}"
    return {"Cookie": cookie, **{name.replace("_", "-"): value for name, value in headers.items()}}


@contextlib.contextmanager
def asked(port: int, path: str, **headers: str) -> Iterator[http.client.HTTPResponse]:
    """An answer that has begun; its connection goes with the block."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=sent(port, headers))
        yield connection.getresponse()


def get(port: int, path: str, **headers: str) -> tuple[int, str, Any]:
    """Status, body and headers of a page."""
    with asked(port, path, **headers) as response:
        return response.status, response.read().decode(), response.headers


def events(port: int, path: str, count: int, meanwhile: Callable[[], object], **headers: str) -> list[Any]:
    """The first events of a stream; `meanwhile` runs after the first."""
    with asked(port, path, **headers) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        seen: list[Any] = []
        deadline = time.monotonic() + 60
        while len(seen) < count:
            assert time.monotonic() < deadline, seen
            line = response.readline().decode()
            if line.startswith("data: "):
                seen.append(json.loads(line[6:]))
                if len(seen) == 1:
                    meanwhile()
        return seen
