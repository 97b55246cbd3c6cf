"""Threads of a server: the same one again, and never too many."""

from __future__ import annotations

import threading
import time

import anyio
import anyio.lowlevel
from hypothesis import given
from hypothesis import strategies as st

from refbus.topics.mcp.threads import Threads

COUNT = 3


@given(groups=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_calls_that_come_one_after_the_other_run_in_the_same_thread(groups: list[int]) -> None:
    """Also after several at once, which are no more than agreed, and while anyio's own threads are taken."""

    async def play() -> set[int]:
        threads, ran = Threads(COUNT), set[int]()

        async def one() -> int:
            ran.add(ident := await threads.run(threading.get_ident))
            return ident

        for size in groups:
            async with anyio.create_task_group() as together:
                for _ in range(size):
                    together.start_soon(one)
            before, released = await one(), threading.Event()
            async with anyio.create_task_group() as others:
                for _ in range(COUNT + 2):
                    others.start_soon(anyio.to_thread.run_sync, released.wait)
                await anyio.lowlevel.checkpoint()
                after = {await one() for _ in range(3)}
                released.set()
            assert after == {before}
        return ran

    assert len(anyio.run(play)) <= COUNT


def test_who_is_cancelled_waits_for_the_call() -> None:
    """What it has done by then can be undone, and the thread is free again."""
    done: list[str] = []

    async def play() -> None:
        threads = Threads(1)

        def work() -> None:
            time.sleep(0.1)
            done.append("work")

        with anyio.move_on_after(0.01) as scope:
            await threads.run(work)
        assert scope.cancel_called
        assert done == ["work"]
        await threads.run(lambda: done.append("next"))

    anyio.run(play)
    assert done == ["work", "next"]
