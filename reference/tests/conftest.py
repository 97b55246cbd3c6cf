"""Fixtures of the reference's tests: a store of its own for each test, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from refbus.kernel.clock import Clock
from refbus.topics.bus import TopicsBus
from refbus.worker.bus import WorkerBus

# An example takes as long as the machine needs for it: its time does not tell that it is wrong.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

T0_MS = 1_768_053_600_000

OpenBus = Callable[..., WorkerBus]
OpenSession = Callable[..., TopicsBus]


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


def opening(make: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Opens buses, each as another process would, and closes them at the end."""
    opened: list[Any] = []

    def open_(**options: Any) -> Any:
        opened.append(make(**options))
        return opened[-1]

    yield open_
    for bus in opened:
        bus.close()


@pytest.fixture
def open_bus(store: Path, clock: Clock) -> Iterator[OpenBus]:
    """Buses on the store."""
    yield from opening(partial(WorkerBus, store, clock=clock))


@pytest.fixture
def bus(open_bus: OpenBus) -> WorkerBus:
    """A bus on the store, with default options."""
    return open_bus()


@pytest.fixture
def open_session(tmp_path: Path, clock: Clock) -> Iterator[OpenSession]:
    """Sessions on one database file of the topics bus."""
    yield from opening(partial(TopicsBus, tmp_path / "bus.sqlite", clock=clock))


class Peer:
    """A session that has joined a topic, with short words for the calls that tests make all the time."""

    def __init__(self, bus: TopicsBus, agent_name: str) -> None:
        self.bus, self.name = bus, agent_name
        self.topic_id: str = bus.topic_create(name="lane")["topic_id"]
        self.token: str = bus.topic_join(agent_name, self.topic_id)["reclaim_token"]

    def sync(self, *bodies: str, wait_seconds: int = 0, **arguments: Any) -> dict[str, Any]:
        """A sync that sends bodies, and does not wait unless told."""
        outbox = arguments.pop("outbox", [{"content_markdown": body} for body in bodies])
        return self.bus.sync(self.topic_id, outbox, wait_seconds=wait_seconds, **arguments)

    def seqs(self, **arguments: Any) -> list[int]:
        """The messages that a sync receives, by number."""
        return [message["seq"] for message in self.sync(**arguments)["received"]]


@pytest.fixture
def join(open_session: OpenSession) -> Callable[..., Peer]:
    """A new session that has joined the topic named `lane`, which is made if missing."""

    def join_(agent_name: str, **options: Any) -> Peer:
        return Peer(open_session(**options), agent_name)

    return join_
