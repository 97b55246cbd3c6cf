"""Calls: exactly the reply key, a time-out, and answers from the record."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from reference.tests.timeline.conftest import OpenBus, delegation, invoke, request

from refbus.kernel.errors import IdConflict, InvalidArgument, IoError, NotFound, TimedOut
from refbus.timeline.bus import TimelineBus

AGENT = {"harness": "cli", "runtime": "local", "agent": "ada"}
SERVICE = {"agent": "ada", "service": "infer", "backend": "ollama", "operation": "chat"}


@pytest.fixture
def later(open_bus: OpenBus) -> Iterator[Callable[..., None]]:
    """Answers by another session, once the request is there."""
    threads: list[threading.Thread] = []
    bus = open_bus()

    def answer(filter: dict[str, Any], payload: Any) -> None:
        message = bus.fetch(filter, wait_ms=20_000)["message"]
        assert message is not None and message["key"] is not None
        bus.reply(message["key"], payload, message["nonce"])

    def start(filter: dict[str, Any], payload: Any) -> None:
        threads.append(threading.Thread(target=answer, args=(filter, payload)))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join()


def test_an_agent_is_run_and_its_result_comes_back(bus: TimelineBus, later: Callable[..., None]) -> None:
    """With the state's hash."""
    later({"type": "invoke"}, {"said": "hello"})
    answer = bus.run_agent("main", "s1", **AGENT, payload={"ask": 1})
    assert (answer["payload"], answer["number"], answer["replayed"]) == ({"said": "hello"}, 2, False)
    assert answer["state"] is not None


def test_a_service_is_called(bus: TimelineBus, later: Callable[..., None]) -> None:
    """A response has no state."""
    later({"type": "request", "service": "infer"}, [1, 2])
    answer = bus.call_service("main", "s1", **SERVICE, sequence=1, payload="q")
    assert (answer["payload"], answer["state"]) == ([1, 2], None)


def test_a_delegation_gets_the_reply_with_its_nonce(bus: TimelineBus) -> None:
    """Not that of another to the same target."""
    bus.send(delegation(), "other", "1")
    bus.reply(delegation(), "not this", "1")
    with pytest.raises(TimedOut):
        bus.delegate("main", "s1", "ada", "bob", "2", "task", timeout_ms=200)
    bus.reply(delegation(), "this", "2")
    assert bus.delegate("main", "s1", "ada", "bob", "2", "task")["payload"] == "this"


@pytest.mark.parametrize("nonce", [["1"], {}, 1, "", "\ud800"])
def test_what_is_no_nonce_is_refused(bus: TimelineBus, nonce: Any) -> None:
    """Also where it cannot be hashed."""
    with pytest.raises(InvalidArgument):
        bus.delegate("main", "s1", "ada", "bob", nonce, "task")
    with pytest.raises(NotFound):  # nothing was sent
        bus.log("main")


def test_a_call_times_out_and_what_was_sent_stays_sent(bus: TimelineBus) -> None:
    """The error says that it may have happened (T3)."""
    began = time.monotonic()
    with pytest.raises(TimedOut) as refused:
        bus.call_service("main", "s1", **SERVICE, sequence=1, timeout_ms=200)
    assert time.monotonic() - began >= 0.2
    assert not refused.value.definite
    assert [message["key"]["type"] for message in bus.log("main")["messages"] if message["key"]] == ["request"]


def test_an_error_behind_a_recorded_request_promises_nothing(bus: TimelineBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for its answer when the disk fails, say."""

    def find(*_: object, **__: object) -> None:
        raise IoError("gone", definite=True)

    monkeypatch.setattr(bus.store.queue, "find", find)
    with pytest.raises(IoError) as caught:
        bus.run_agent("main", "s", "h", "r", "ann")
    assert not caught.value.definite
    assert len(bus.log("main")["messages"]) == 1


def test_a_late_reply_goes_to_the_same_call_again_and_to_no_other(bus: TimelineBus) -> None:
    """T3 and T4."""
    with pytest.raises(TimedOut):
        bus.call_service("main", "s1", **SERVICE, sequence=1, timeout_ms=0)
    bus.reply(request(), "late")
    others = [
        {"sequence": 2},
        {"operation": "embed"},
        {"backend": "openrouter"},
        {"service": "store"},
        {"agent": "bob"},
    ]
    for other in others:
        with pytest.raises(TimedOut):
            bus.call_service("main", "s1", **{**SERVICE, "sequence": 1, **other}, timeout_ms=0)
    for timeline, submission in (("main", "s2"), ("side", "s1")):
        with pytest.raises(TimedOut):
            bus.call_service(timeline, submission, **SERVICE, sequence=1, timeout_ms=0)
    again = bus.call_service("main", "s1", **SERVICE, sequence=1)
    assert (again["payload"], again["replayed"]) == ("late", True)


def test_the_record_answers_what_it_has(bus: TimelineBus) -> None:
    """Nothing is sent for it."""
    bus.send(request(), "q")
    bus.reply(request(), "a")
    answer = bus.call_service("main", "s1", **SERVICE, sequence=1, payload="q")
    assert (answer["payload"], answer["number"], answer["replayed"]) == ("a", 2, True)
    assert len(bus.log("main")["messages"]) == 2


def test_the_record_is_not_given_another_question(bus: TimelineBus) -> None:
    """The same key with other content is refused, on the timeline and on a fork of it."""
    bus.send(request(), "q")
    bus.reply(request(), "a")
    bus.fork("side", "s1", "ada", "main", 2)
    for timeline in ("main", "side"):
        with pytest.raises(IdConflict):
            bus.call_service(timeline, "s1", **SERVICE, sequence=1, payload="another")


def test_a_fork_takes_over_answers_up_to_the_fork_point(bus: TimelineBus) -> None:
    """And none that the parent got later."""
    bus.send(request(), "q")
    bus.reply(request(), "a")
    bus.send(request(sequence=2), "q2")
    bus.fork("side", "s1", "ada", "main", 3)
    bus.reply(request(sequence=2), "a2")
    answer = bus.call_service("side", "s1", **SERVICE, sequence=1, payload="q")
    assert (answer["payload"], answer["replayed"]) == ("a", True)
    with pytest.raises(TimedOut):
        bus.call_service("side", "s1", **SERVICE, sequence=2, payload="q2", timeout_ms=100)
    bus.reply(request("side", sequence=2), "b2")
    assert bus.call_service("side", "s1", **SERVICE, sequence=2, payload="q2")["payload"] == "b2"
    assert bus.call_service("main", "s1", **SERVICE, sequence=2, payload="q2")["payload"] == "a2"


def test_the_nearest_timeline_that_asked_decides(bus: TimelineBus) -> None:
    """A fork that asked otherwise is not given its parent's answer."""
    bus.send(request(), "q")
    bus.reply(request(), "a")
    bus.fork("side", "s1", "ada", "main", 2)
    bus.send(request("side"), "other")
    with pytest.raises(TimedOut):
        bus.call_service("side", "s1", **SERVICE, sequence=1, payload="other", timeout_ms=0)
    with pytest.raises(IdConflict):
        bus.call_service("side", "s1", **SERVICE, sequence=1, payload="q", timeout_ms=0)


@pytest.mark.parametrize("timeout_ms", [-1, 86_400_001, True, 1.5, None])
def test_a_time_out_is_a_number_of_milliseconds(bus: TimelineBus, timeout_ms: Any) -> None:
    """Up to a day; nothing is sent otherwise."""
    with pytest.raises(InvalidArgument):
        bus.run_agent("main", "s1", **AGENT, timeout_ms=timeout_ms)
    assert bus.timelines()["timelines"] == []


def test_an_answer_to_an_unsent_request_is_kept_for_it(bus: TimelineBus) -> None:
    """A worker need not be second."""
    bus.reply(invoke(), "early")
    assert bus.run_agent("main", "s1", **AGENT)["payload"] == "early"
