"""Threads that do a server's calls and nothing else, so that each finds the connection that it used before.

anyio's own threads also read stdin and write stdout, whichever is free, and end after ten idle seconds: a call would
often meet one that must open the file first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import anyio

T = TypeVar("T")


class Threads:
    """So many at most. Calls that come one after the other all run in the same."""

    def __init__(self, count: int) -> None:
        self._limiter = anyio.CapacityLimiter(count)
        self._idle: list[ThreadPoolExecutor] = []

    async def run(self, function: Callable[[], T]) -> T:
        """What the function returns. Who is cancelled meanwhile waits for it: nobody can interrupt a thread."""
        async with self._limiter:
            thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1)
            try:
                with anyio.CancelScope(shield=True):
                    result = await asyncio.get_running_loop().run_in_executor(thread, function)
            finally:
                self._idle.append(thread)
        return result
