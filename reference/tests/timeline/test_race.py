"""Many sessions at once, on both backends: one chain, one worker for each message, one answer for each request."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable

import pytest
from reference.tests.timeline.conftest import T0_MS, OpenBus, request

from refbus.kernel.clock import Clock
from refbus.kernel.errors import IdConflict
from refbus.timeline.bus import TimelineBus
from refbus.timeline.queue import Branch

OLLAMA = {"type": "request", "service": "infer", "backend": "ollama"}
WRITERS, EACH = 4, 15


def together(sessions: list[TimelineBus], work: Callable[[TimelineBus, int], None]) -> None:
    """All begin at the same moment."""
    start = threading.Barrier(len(sessions))
    failed: list[BaseException] = []

    def work_at_once(bus: TimelineBus, number: int) -> None:
        start.wait()
        try:
            work(bus, number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work_at_once, args=pair) for pair in zip(sessions, range(99), strict=False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


def test_writers_of_one_timeline_make_one_chain(open_bus: OpenBus) -> None:
    """Compare-and-set on the head: nothing lost, nothing twice, no fork (T6)."""

    def write(bus: TimelineBus, number: int) -> None:
        for n in range(EACH):
            bus.send(request(agent=f"a{number}", sequence=n))

    sessions = [open_bus() for _ in range(WRITERS)]
    together(sessions, write)
    messages = sessions[0].log("main")["messages"]
    assert [message["number"] for message in messages] == list(range(1, WRITERS * EACH + 1))
    assert len({message["subject"] for message in messages}) == WRITERS * EACH
    assert sessions[0].verify()["ok"]


def test_the_same_message_by_many_is_sent_once(open_bus: OpenBus) -> None:
    """And the same answer; of different answers one."""
    firsts: list[bool] = []
    answered: list[int] = []

    def write(bus: TimelineBus, number: int) -> None:
        for n in range(EACH):
            firsts.append(not bus.send(request(sequence=n))["duplicate"])
            with contextlib.suppress(IdConflict):
                answered.extend([n] * (not bus.reply(request(sequence=n), number)["duplicate"]))

    sessions = [open_bus() for _ in range(WRITERS)]
    together(sessions, write)
    assert sum(firsts) == EACH
    assert sorted(answered) == list(range(EACH))
    assert len(sessions[0].log("main")["messages"]) == 2 * EACH


def test_workers_of_one_type_share_the_work(open_bus: OpenBus) -> None:
    """Each message to exactly one."""
    sender = open_bus()
    for n in range(40):
        sender.send(request(sequence=n))
    taken: Counter[int] = Counter()

    def work(bus: TimelineBus, number: int) -> None:
        while (message := bus.fetch(OLLAMA, wait_ms=300)["message"]) is not None:
            taken[message["number"]] += 1
            bus.ack(message["delivery"])

    together([open_bus() for _ in range(WRITERS)], work)
    assert taken == dict.fromkeys(range(1, 41), 1)


def test_what_was_not_acknowledged_in_time_comes_again(open_bus: OpenBus, backend: str, clock: Clock) -> None:
    """To another worker, counted. By the session's clock on SQLite; on NATS by the server's, so it is waited for."""
    dead, heir = open_bus(ack_wait_ms=1_000), open_bus(ack_wait_ms=1_000)
    dead.send(request())
    first = dead.fetch(OLLAMA)["message"]
    assert first is not None
    if backend == "sqlite":
        clock.set(T0_MS + 999)
        assert heir.fetch(OLLAMA)["message"] is None
        clock.set(T0_MS + 1_000)
    again = heir.fetch(OLLAMA, wait_ms=20_000)["message"]
    assert again is not None and (again["number"], again["delivery_count"]) == (1, 2)
    dead.ack(first["delivery"])  # late: the work is done all the same
    assert heir.fetch(OLLAMA, wait_ms=100 if backend == "sqlite" else 1_500)["message"] is None


@pytest.mark.parametrize("payload", ["ask", "ask something else"])
def test_a_timeline_that_begins_while_a_call_looks_it_up(open_bus: OpenBus, payload: str) -> None:
    """The call meets a request and an answer that were not there when it began: the same request, or another's."""
    caller, other = open_bus(), open_bus()
    branch = caller.store.queue.branch

    def late(timeline: str) -> Branch | None:
        caller.store.queue.branch = branch  # type: ignore[method-assign]
        unknown = branch(timeline)
        other.send(request(), "ask")
        other.reply(request(), "answer")
        return unknown

    caller.store.queue.branch = late  # type: ignore[method-assign]
    call = {name: value for name, value in request().items() if name != "type"}
    if payload == "ask":
        assert caller.call_service(**call, payload=payload, timeout_ms=0)["payload"] == "answer"
    else:
        with pytest.raises(IdConflict):
            caller.call_service(**call, payload=payload, timeout_ms=0)
