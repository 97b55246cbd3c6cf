"""What the reference's tests share: a store of its own for each test, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel.clock import Clock
from refbus.worker.bus import WorkerBus

T0_MS = 1_768_053_600_000

OpenBus = Callable[..., WorkerBus]


@pytest.fixture
def clock() -> Clock:
    """It stands at the seed's own example, 2026-01-10T14:00:00Z."""
    return Clock(T0_MS)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """An empty store folder."""
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


@pytest.fixture
def open_bus(store: Path, clock: Clock) -> Iterator[OpenBus]:
    """Opens buses on the store, each as another process would, and closes them at the end."""
    opened: list[WorkerBus] = []

    def open_(**options: Any) -> WorkerBus:
        opened.append(WorkerBus(store, clock=clock, **options))
        return opened[-1]

    yield open_
    for bus in opened:
        bus.close()


@pytest.fixture
def bus(open_bus: OpenBus) -> WorkerBus:
    """A bus on the store, with default options."""
    return open_bus()
