"""Presence, worker states and the status query: the agents that are there, and their work."""

from __future__ import annotations

import inspect
import itertools
import json
import logging
import queue
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel.clock import Clock
from refbus.kernel.errors import Busy, InvalidArgument, StateConflict
from refbus.worker.bus import WorkerBus
from refbus.worker.heartbeat import Heartbeat
from refbus.worker.states import TRANSITIONS

T0_MS = 1_768_053_600_000  # where the clock of these tests stands
OpenBus = Callable[..., WorkerBus]


def test_an_agent_has_one_row_and_its_last_word_counts(bus: WorkerBus, clock: Clock) -> None:
    """Upsert."""
    bus.heartbeat("alice", "idle")
    bus.heartbeat("bob", "blocked", "skills-abc", 1)
    clock.set(T0_MS + 30_000)
    bus.heartbeat("alice", "working", "write tests", 0.5)
    assert bus.liveness() == {
        "agents": [
            {
                "agent_id": "alice",
                "ts_ms": T0_MS + 30_000,
                "age_ms": 0,
                "state": "ALIVE",
                "status": "working",
                "current_task": "write tests",
                "progress": 0.5,
            },
            {
                "agent_id": "bob",
                "ts_ms": T0_MS,
                "age_ms": 30_000,
                "state": "WARN",
                "status": "blocked",
                "current_task": "skills-abc",
                "progress": 1.0,
            },
        ]
    }


@pytest.mark.parametrize(
    "params",
    [
        ("", "idle"),
        ("a/b", "idle"),
        ("a", "busy"),
        ("a", ""),
        ("a", None),
        ("a", "idle", ""),
        ("a", "idle", 5),
        ("a", "idle", None, "half"),
        ("a", "idle", None, True),
        ("a", "idle", None, float("inf")),
        ("a", "idle", None, 2**63),
    ],
)
def test_a_bad_heartbeat_is_refused(bus: WorkerBus, params: tuple[Any, ...]) -> None:
    """And nobody comes to life by it."""
    with pytest.raises(InvalidArgument):
        bus.heartbeat(*params)
    assert bus.liveness() == {"agents": []}


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


def test_a_worker_goes_its_way_and_every_step_is_announced(bus: WorkerBus) -> None:
    """W15: the happy path, with a round of review."""
    path = [None, "ASSIGNED", "WORKING", "IN_REVIEW", "WORKING", "IN_REVIEW", "APPROVED", "COMPLETED"]
    assert bus.worker_state("w1") == {"worker": "w1", "state": None}
    for before, after in itertools.pairwise(path):
        assert after is not None
        assert bus.transition("w1", after, before) == {"worker": "w1", "state": after, "changed": True}
        assert bus.worker_state("w1") == {"worker": "w1", "state": after}
        assert json.loads((bus.store.workers / "w1.json").read_text())["state"] == after
    changes = [message for message in bus.poll("anyone")["messages"] if message["type"] == "state_change"]
    assert [message["payload"] for message in changes] == [
        {"from": before, "to": after} for before, after in itertools.pairwise(path)
    ]
    assert {message["from_agent"] for message in changes} == {"w1"}
    assert [(row["from_agent"], row["ts_ms"], row["payload"]) for row in bus.status(2)["rows"]] == [
        ("w1", T0_MS, {"from": "APPROVED", "to": "COMPLETED"}),
        ("w1", T0_MS, {"from": "IN_REVIEW", "to": "APPROVED"}),
    ]


def test_a_repeat_changes_nothing_and_announces_nothing(bus: WorkerBus) -> None:
    """Idempotent, for a caller that lost the first answer."""
    bus.transition("w1", "ASSIGNED")
    assert bus.transition("w1", "ASSIGNED") == {"worker": "w1", "state": "ASSIGNED", "changed": False}
    assert len(bus.poll("anyone")["messages"]) == 1


@pytest.mark.parametrize("before", list(TRANSITIONS))
@pytest.mark.parametrize("after", [state for state in TRANSITIONS if state])
def test_only_the_tables_transitions_exist(bus: WorkerBus, before: str | None, after: str) -> None:
    """Every pair."""
    if before:
        bus.db.connection().execute("INSERT INTO worker_states VALUES ('w1', ?, 1)", (before,))
    if after in TRANSITIONS[before]:
        assert bus.transition("w1", after, before)["changed"]
    else:
        with pytest.raises(StateConflict) as caught:
            bus.transition("w1", after, before)
        assert caught.value.definite
        assert bus.worker_state("w1")["state"] == before


def test_a_caller_with_a_wrong_belief_is_refused(bus: WorkerBus) -> None:
    """Compare and set."""
    bus.transition("w1", "ASSIGNED")
    bus.transition("w1", "WORKING", "ASSIGNED")
    with pytest.raises(StateConflict, match="is WORKING, not IN_REVIEW"):
        bus.transition("w1", "APPROVED", "IN_REVIEW")
    with pytest.raises(StateConflict, match="no way leads from ASSIGNED to COMPLETED; w1 is WORKING"):
        bus.transition("w1", "COMPLETED", "ASSIGNED")


@pytest.mark.parametrize("name", ["../evil", "a/b", "", "..", "a\0b", None, 5, "x" * 300])
def test_a_worker_is_no_path(bus: WorkerBus, name: Any) -> None:
    """Its name becomes a file name."""
    for call in (lambda: bus.worker_state(name), lambda: bus.transition(name, "ASSIGNED")):
        with pytest.raises(InvalidArgument):
            call()  # type: ignore[no-untyped-call]
    assert list(bus.store.workers.iterdir()) == []


@pytest.mark.parametrize("state", ["", "assigned", "DONE", None, 5, ["ASSIGNED"]])
def test_unknown_states_are_refused(bus: WorkerBus, state: Any) -> None:
    """By name."""
    with pytest.raises(InvalidArgument):
        bus.transition("w1", state)
    if state is not None:
        with pytest.raises(InvalidArgument):
            bus.transition("w1", "WORKING", state)


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


def test_status_shows_heartbeat_messages_too_and_survives_bad_payloads(bus: WorkerBus) -> None:
    """The seed's query, with ts_ms (W13); newest first."""
    bus.publish("alice", {"type": "heartbeat", "payload": {"status": "idle"}})
    bus.publish("alice", {"type": "task_done"})
    bus.publish("alice", {"type": "state_change"})
    bus.db.connection().execute("UPDATE messages SET payload = '{' WHERE seq = 1")
    assert [(row["type"], row["payload"]) for row in bus.status()["rows"]] == [
        ("state_change", None),
        ("heartbeat", None),
    ]
    assert bus.status(0) == {"rows": []}
    with pytest.raises(InvalidArgument):
        bus.status(-1)


def test_states_travel_between_sessions(open_bus: OpenBus) -> None:
    """One store, many processes."""
    open_bus().transition("w1", "ASSIGNED")
    assert open_bus().worker_state("w1")["state"] == "ASSIGNED"


@pytest.mark.parametrize("at", ["'now'", "x'00'", "0.5"])
def test_a_heartbeat_of_another_program_without_a_time_is_passed_over(bus: WorkerBus, at: str) -> None:
    """It hides nobody, and its agent's own next one counts."""
    bus.heartbeat("alice", "idle")
    bus.store.db.write(f"INSERT INTO heartbeats (agent_id, ts_ms, status) VALUES ('eve', {at}, 'idle')")
    assert [agent["agent_id"] for agent in bus.liveness()["agents"]] == ["alice"]
    bus.heartbeat("eve", "idle")
    assert [agent["agent_id"] for agent in bus.liveness()["agents"]] == ["alice", "eve"]
