"""A way to a server on this machine that can be cut, so that a bus loses it while others still have it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

CHUNK = 65_536


class Link:
    """Connections to its port are led to the server's. While it is cut, they end as soon as they are made."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self._lock = threading.Lock()
        self._is_cut = False
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._let_in, daemon=True).start()

    def cut(self) -> None:
        """End every connection; nothing comes through until it is mended."""
        with self._lock:
            self._is_cut = True
            for end in self._ends:
                _end(end)
            self._ends.clear()

    def mend(self) -> None:
        """Let new connections through."""
        with self._lock:
            self._is_cut = False

    def close(self) -> None:
        """End it for good."""
        self.cut()
        _end(self._door)

    def _let_in(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._door.accept()
                self._lead(near)

    def _lead(self, near: socket.socket) -> None:
        with self._lock:
            try:
                far = None if self._is_cut else socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                far = None
            if far is None:
                _end(near)
                return
            self._ends += [near, far]
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=_pass_on, args=(source, target), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    _end(source)
    _end(target)


def _end(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextlib.contextmanager
def link(port: int) -> Iterator[Link]:
    """A link that is closed after the block."""
    made = Link(port)
    try:
        yield made
    finally:
        made.close()
