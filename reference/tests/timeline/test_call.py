"""Calls: exactly the reply key, a time-out, and answers from the record."""

from __future__ import annotations

import time

import pytest

from refbus.kernel.errors import IoError, TimedOut
from refbus.timeline.bus import TimelineBus

SERVICE = {"agent": "ada", "service": "infer", "backend": "ollama", "operation": "chat"}


def test_an_error_behind_a_recorded_request_promises_nothing(bus: TimelineBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for its answer when the disk fails, say."""

    def find(*_: object, **__: object) -> None:
        raise IoError("gone", definite=True)

    monkeypatch.setattr(bus.store.queue, "find", find)
    with pytest.raises(IoError) as caught:
        bus.run_agent("main", "s", "h", "r", "ann")
    assert not caught.value.definite
    assert len(bus.log("main")["messages"]) == 1


def test_a_call_times_out_and_what_was_sent_stays_sent(bus: TimelineBus) -> None:
    """The error says that it may have happened (T3)."""
    began = time.monotonic()
    with pytest.raises(TimedOut) as refused:
        bus.call_service("main", "s1", **SERVICE, sequence=1, timeout_ms=200)
    assert time.monotonic() - began >= 0.2
    assert not refused.value.definite
    assert [message["key"]["type"] for message in bus.log("main")["messages"] if message["key"]] == ["request"]
