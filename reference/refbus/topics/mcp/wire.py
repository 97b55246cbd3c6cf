"""stdin and stdout as lines. Standard output belongs to the protocol alone: all other output goes to stderr."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import select
import threading
from collections.abc import AsyncIterator

from refbus.kernel.lines import read_line


class Wire:
    """One thread reads, one writes: neither a slow client nor a long line holds up the calls."""

    def __init__(self) -> None:
        self._incoming, self._outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="writer")
        self._writer.start()

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines that arrive, until the client closes the connection."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes] = asyncio.Queue()

        def read() -> None:
            while line := read_line(self._incoming):
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, b"")

        threading.Thread(target=read, name="reader", daemon=True).start()
        while line := await lines.get():
            yield line

    def is_read(self) -> bool:
        """Has the client left its other end open? Then it may read answers, though it sends no more."""
        reader = select.poll()
        reader.register(self._outgoing, 0)  # errors and hang-ups are told unasked
        return not reader.poll(0)

    def send(self, line: bytes) -> None:
        """Write a line in its turn, also after the client has closed its end: the call that it answers has happened."""
        self._answers.put(line)

    def close(self) -> None:
        """Write what is still to be written."""
        self._answers.put(None)
        self._writer.join()

    def _write(self) -> None:
        with contextlib.suppress(OSError):  # the client does not read any more
            while (line := self._answers.get()) is not None:
                self._outgoing.write(line)
                self._outgoing.flush()
