"""Threads that do a server's calls and nothing else, so that each finds the connection that it used before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Threads:
    """So many at most. Calls that come one after the other all run in the same."""

    def __init__(self, count: int) -> None:
        self._limit = asyncio.Semaphore(count)
        self._idle: list[ThreadPoolExecutor] = []

    async def run(self, function: Callable[[], T]) -> T:
        """The result of the function. Nobody can interrupt a thread."""
        async with self._limit:
            thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1)
            try:
                return await asyncio.get_running_loop().run_in_executor(thread, function)
            finally:
                self._idle.append(thread)
