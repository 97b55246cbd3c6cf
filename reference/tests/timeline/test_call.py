"""Calls: exactly the reply key, a time-out, and answers from the record."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from reference.tests.timeline.conftest import OpenBus, delegation, invoke

from refbus.kernel.errors import IoError, TimedOut
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


def test_an_answer_to_an_unsent_request_is_kept_for_it(bus: TimelineBus) -> None:
    """A worker need not be second."""
    bus.reply(invoke(), "early")
    assert bus.run_agent("main", "s1", **AGENT)["payload"] == "early"
