"""What the tests of `timeline` share: a store of their own, on each backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel.clock import Clock
from refbus.timeline.bus import TimelineBus

OpenBus = Callable[..., TimelineBus]


@pytest.fixture(params=["sqlite"])
def open_bus(request: pytest.FixtureRequest, store: Path, clock: Clock) -> Iterator[OpenBus]:
    """Opens buses on the store, each as another process would, and closes them at the end."""
    opened: list[TimelineBus] = []

    def open_(**options: Any) -> TimelineBus:
        opened.append(TimelineBus(store, **{"clock": clock, "backend": request.param, **options}))
        return opened[-1]

    yield open_
    for bus in opened:
        bus.close()


@pytest.fixture
def bus(open_bus: OpenBus) -> TimelineBus:
    """A bus on the store, with default options."""
    return open_bus()


def invoke(timeline: str = "main", submission: str = "s1", **said: Any) -> dict[str, Any]:
    """A key to submit with."""
    key = {"type": "invoke", "timeline": timeline, "submission": submission}
    return {**key, "harness": "cli", "runtime": "local", "agent": "ada", **said}


def request(timeline: str = "main", submission: str = "s1", **said: Any) -> dict[str, Any]:
    """A key to call a service with."""
    key = {"type": "request", "timeline": timeline, "submission": submission, "agent": "ada", "service": "infer"}
    return {**key, "backend": "ollama", "operation": "chat", "sequence": 1, **said}


def delegation(timeline: str = "main", submission: str = "s1", **said: Any) -> dict[str, Any]:
    """A key to delegate with."""
    key = {"type": "delegate", "timeline": timeline, "submission": submission, "caller": "ada", "target": "bob"}
    return {**key, **said}
