"""Calls: exactly the reply key, a time-out, and answers from the record."""

from __future__ import annotations

import pytest

from refbus.kernel.errors import IoError
from refbus.timeline.bus import TimelineBus


def test_an_error_behind_a_recorded_request_promises_nothing(bus: TimelineBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for its answer when the disk fails, say."""

    def find(*_: object, **__: object) -> None:
        raise IoError("gone", definite=True)

    monkeypatch.setattr(bus.store.queue, "find", find)
    with pytest.raises(IoError) as caught:
        bus.run_agent("main", "s", "h", "r", "ann")
    assert not caught.value.definite
    assert len(bus.log("main")["messages"]) == 1
