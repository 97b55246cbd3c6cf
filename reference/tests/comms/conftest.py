"""Fixtures of the tests of `comms`: a project of its own for each, its bus, and a stranger at its file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from reference.tests.conftest import opening

from refbus.comms.bus import CommsBus
from refbus.kernel.clock import Clock

OpenBus = Callable[..., CommsBus]


@pytest.fixture
def open_bus(store: Path, clock: Clock) -> Iterator[OpenBus]:
    """Buses on the project."""
    yield from opening(partial(CommsBus, store, clock=clock, retry_jitter=1.0))


@pytest.fixture
def bus(open_bus: OpenBus) -> CommsBus:
    """A bus on the project; only the jitter of its retry delays is fixed, at 1."""
    return open_bus()


@pytest.fixture
def send(bus: CommsBus) -> Callable[..., str]:
    """Sends a note from alice to bob, unless something else is said; its id."""

    def send_(to_agent: str | None = "bob", message_type: str = "note", **fields: Any) -> str:
        fields = {"from_agent": "alice", "payload": {}, **fields}
        return str(bus.send_message(to_agent=to_agent, message_type=message_type, **fields)["message_id"])

    return send_


@pytest.fixture
def stranger(bus: CommsBus) -> Iterator[sqlite3.Connection]:
    """A participant that knows only SQLite and the seed's tables."""
    connection = sqlite3.connect(bus.store.folder / "messages.db", isolation_level=None)
    yield connection
    connection.close()


@pytest.fixture
def stranger_sends(stranger: sqlite3.Connection) -> Callable[..., str]:
    """A stranger's row: to bob, unless other columns are given; its id."""

    def send_(message_id: str = "s1", **columns: Any) -> str:
        at = "2026-01-10T14:00:00Z"
        row = {
            "id": message_id,
            "type": "note",
            "version": "1.0",
            "timestamp": at,
            "from_agent": "nim",
            "to_agent": "bob",
            "channel": "general",
            "priority": 5,
            "payload": "{}",
            "created_at": at,
            **columns,
        }
        names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
        stranger.execute(f"INSERT INTO messages ({names}) VALUES ({marks})", row)
        return message_id

    return send_
