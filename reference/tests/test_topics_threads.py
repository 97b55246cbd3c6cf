"""Threads of a server: the same one again, and never too many."""

from __future__ import annotations

import threading
import time

import anyio
from hypothesis import given
from hypothesis import strategies as st

from refbus.topics.threads import Threads

COUNT = 3


@given(groups=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_calls_that_come_one_after_the_other_run_in_the_same_thread(groups: list[int]) -> None:
    """Also after several at once, which are no more than agreed; and with anyio's own threads at work."""

    async def play() -> list[tuple[int, set[int]]]:
        threads, ran = Threads(COUNT), []
        for size in groups:
            together: set[int] = set()

            async def one(together: set[int] = together) -> None:
                together.add(await threads.run(threading.get_ident))

            async with anyio.create_task_group() as tasks:
                for _ in range(size):
                    tasks.start_soon(one)
            await anyio.to_thread.run_sync(int)
            alone = {await threads.run(threading.get_ident) for _ in range(3)}
            assert len(alone) == 1
            ran.append((len(together), together | alone))
        return ran

    ran = anyio.run(play)
    assert all(count <= COUNT for count, _ in ran)
    assert len(set().union(*(idents for _, idents in ran))) <= COUNT


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
