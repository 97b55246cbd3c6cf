"""Threads of a server: the same one again, and never too many."""

from __future__ import annotations

import asyncio
import threading

from hypothesis import given
from hypothesis import strategies as st

from refbus.topics.mcp.server import Threads

COUNT = 3


@given(groups=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_calls_that_come_one_after_the_other_run_in_the_same_thread(groups: list[int]) -> None:
    """Also after several at once, which are no more than agreed."""

    async def play() -> set[int]:
        threads, ran = Threads(COUNT), set[int]()

        async def run_once() -> int:
            ran.add(ident := await threads.run(threading.get_ident))
            return ident

        for size in groups:
            await asyncio.gather(*(run_once() for _ in range(size)))
            assert len({await run_once() for _ in range(4)}) == 1
        return ran

    assert len(asyncio.run(play())) <= COUNT


def test_a_call_that_fails_frees_its_thread() -> None:
    """The next one has it."""

    async def play() -> int:
        threads = Threads(1)
        for _ in range(3):
            failed = await asyncio.gather(threads.run(lambda: 1 // 0), return_exceptions=True)
            assert isinstance(failed[0], ZeroDivisionError)
        return await threads.run(lambda: 5)

    assert asyncio.run(play()) == 5
