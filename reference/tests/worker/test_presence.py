"""Presence, worker states and the status query: the agents that are there, and their work."""

from __future__ import annotations

import inspect
import logging
import queue
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel.errors import Busy, InvalidArgument
from refbus.worker.bus import WorkerBus
from refbus.worker.heartbeat import Heartbeat


class Beats:
    """Stands in for the bus: hands each beat to the test, and fails when told to."""

    def __init__(self) -> None:
        self.seen: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.failing = 0

    def heartbeat(self, **fields: Any) -> None:
        self.seen.put(fields)
        if self.failing:
            self.failing -= 1
            raise Busy("locked")


def test_the_heartbeat_thread_beats_at_once_and_on_every_change() -> None:
    """And goes on with what it was told last."""
    beats = Beats()
    with Heartbeat(beats, "alice", interval_ms=1) as heart:  # type: ignore[arg-type]
        assert beats.seen.get(timeout=10) == {"agent_id": "alice", "status": "idle"}
        heart.update("working", "t1", 0.5)
        beat = {"agent_id": "alice", "status": "working", "current_task": "t1", "progress": 0.5}
        while beats.seen.get(timeout=10) != beat:
            pass
        assert beats.seen.get(timeout=10) == beat
        with pytest.raises(InvalidArgument):
            heart.update("asleep")
    heart.stop()


def test_a_heart_beats_every_ten_seconds_unless_told_otherwise() -> None:
    """Seed 000, l. 432."""
    assert inspect.signature(Heartbeat).parameters["interval_ms"].default == 10_000


@pytest.mark.parametrize("interval_ms", [0, -1, float("nan"), float("inf")])
def test_a_heart_has_a_pace(interval_ms: int) -> None:
    """Or it is refused where it is made, and not in its thread."""
    with pytest.raises(InvalidArgument):
        Heartbeat(Beats(), "alice", interval_ms=interval_ms)  # type: ignore[arg-type]


def test_the_heartbeat_thread_survives_errors(caplog: pytest.LogCaptureFixture) -> None:
    """It logs them and beats on."""
    beats = Beats()
    beats.failing = 2
    with caplog.at_level(logging.WARNING), Heartbeat(beats, "alice", interval_ms=1):  # type: ignore[arg-type]
        for _ in range(4):
            beats.seen.get(timeout=10)
    assert caplog.text.count("BUSY") == 2


def test_the_heartbeat_thread_writes_real_rows(bus: WorkerBus) -> None:
    """On a connection of its own."""
    with Heartbeat(bus, "alice", interval_ms=60_000) as heart:
        heart.update("blocked")
    # Both beats were due before the stop: commands are taken in order.
    assert bus.liveness()["agents"][0]["status"] == "blocked"


@pytest.mark.parametrize(
    ("content", "state"),
    [
        ('{"state": "WORKING"}', "WORKING"),
        ('{"state": "NAPPING"}', None),
        ("[]", None),
        ("{", None),
        ('{"state": []}', None),
    ],
)
def test_a_file_without_a_row_is_believed_if_it_makes_sense(bus: WorkerBus, content: str, state: str | None) -> None:
    """A program that keeps only files may have been here before."""
    Path(bus.store.workers / "w1.json").write_text(content)
    assert bus.worker_state("w1")["state"] == state
    if state == "WORKING":
        assert bus.transition("w1", "IN_REVIEW", "WORKING")["changed"]


@pytest.mark.parametrize("at", ["'now'", "x'00'", "0.5"])
def test_a_heartbeat_of_another_program_without_a_time_is_passed_over(bus: WorkerBus, at: str) -> None:
    """It hides nobody, and its agent's own next one counts."""
    bus.heartbeat("alice", "idle")
    bus.store.db.write(f"INSERT INTO heartbeats (agent_id, ts_ms, status) VALUES ('eve', {at}, 'idle')")
    assert [agent["agent_id"] for agent in bus.liveness()["agents"]] == ["alice"]
    bus.heartbeat("eve", "idle")
    assert [agent["agent_id"] for agent in bus.liveness()["agents"]] == ["alice", "eve"]


def test_a_lost_or_stale_mirror_is_written_again(bus: WorkerBus) -> None:
    """A crash between the transaction and the file leaves nothing wrong for long."""
    bus.transition("w1", "ASSIGNED")
    mirror = bus.store.workers / "w1.json"
    whole = mirror.read_bytes()
    damages: list[Callable[[], object]] = [
        mirror.unlink,
        lambda: mirror.write_text("{"),
        lambda: mirror.write_text("{}"),
    ]
    for damage in damages:
        damage()
        assert bus.worker_state("w1")["state"] == "ASSIGNED"
        assert mirror.read_bytes() == whole
