"""Faults of worker, presence."""

from __future__ import annotations

from typing import Any

from plant import fault, patch

from refbus.kernel.rules import limit as limits
from refbus.kernel.rules import presence
from refbus.kernel.transaction import Transaction
from refbus.worker import bus, states
from refbus.worker.bus import WorkerBus
from refbus.worker.states import States

CONTROL = "presence.comes_back"


@fault("worker.presence.16", item="corpus:mirrors_decide_nothing")
class ARepeatPublishes(WorkerBus):
    """A repeated transition publishes its message again."""

    def transition(self, worker: str, to_state: str, from_state: str | None = None) -> dict[str, Any]:
        reply = super().transition(worker, to_state, from_state)
        if not reply["changed"]:
            self.publish(worker, {"type": "state_change", "payload": {"from": from_state, "to": to_state}})
        return reply


@fault("worker.presence.08", "worker.presence.23")
class AgeInSeconds(WorkerBus):
    """age_ms holds seconds."""

    def liveness(self) -> dict[str, Any]:
        return {"agents": [row | {"age_ms": row["age_ms"] // 1000} for row in super().liveness()["agents"]]}


@fault("worker.presence.07", item="corpus:beats_of_a_stranger")
def age_without_sign():
    """After a clock was set back, heartbeats of the future are old."""
    from refbus.worker import presence

    _state = presence.presence.state
    patch(presence.presence, state=lambda age_ms: _state(abs(age_ms)))


@fault("worker.log.03", chaos={"points": True, "only": "transition"})
def announces_afterwards():
    """A transition is stored, and its message in a transaction of its own."""

    class AnnouncesAfterwards(States):
        """Two commits."""

        _late: list[Any] | None = None

        def announce(self, tx: Any, *change: Any) -> None:
            self._late = list(change)

        def transition(self, *args: Any, **how: Any) -> Any:
            reply = super().transition(*args, **how)
            late, self._late = self._late, None
            if late is not None:
                with self._store.transaction() as tx:
                    super().announce(tx, *late)
            return reply

    patch(bus, States=AnnouncesAfterwards)


@fault("worker.log.06", item="corpus:state_changes_are_signed")
def anonymous_transitions():
    """A state change is published by the bus, not by the worker."""
    _announce = states.States.announce
    patch(states.States, announce=lambda self, tx, worker, *way: _announce(self, tx, "bus", *way))


@fault("worker.presence.24", item="corpus:06064")
def any_status():
    """A heartbeat may have any status."""

    class AnyText(tuple[str, ...]):
        def __contains__(self, value: object) -> bool:
            return True

    patch(presence, STATUSES=AnyText(presence.STATUSES))


@fault("worker.presence.14")
def any_transition():
    """Completed work can be assigned again."""
    states.TRANSITIONS["COMPLETED"].add("ASSIGNED")


@fault("worker.presence.13")
def cannot_be_cancelled():
    """Work under review can be neither failed nor cancelled."""
    states.TRANSITIONS["IN_REVIEW"] -= {"FAILED", "CANCELLED"}


@fault("worker.presence.06", item="corpus:edges_of_time")
def dead_late():
    """DEAD begins two milliseconds late."""
    patch(presence, THRESHOLDS_MS=((300_002, "DEAD"), (100_000, "STALE"), (30_000, "WARN")))


@fault("worker.presence.03", item="corpus:beats_of_a_stranger")
class ForgetsProgress(WorkerBus):
    """current_task and progress are not kept."""

    def heartbeat(self, agent_id: str, status: str, current_task: Any = None, progress: Any = None) -> dict[str, Any]:
        return super().heartbeat(agent_id, status)


@fault("worker.presence.09")
class HeartbeatIsAMessage(WorkerBus):
    """A heartbeat is published, too."""

    def heartbeat(self, agent_id: str, status: str, current_task: Any = None, progress: Any = None) -> dict[str, Any]:
        self.publish(agent_id, {"type": "heartbeat", "payload": {"status": status}})
        return super().heartbeat(agent_id, status, current_task, progress)


@fault("worker.presence.01", control="cursor.poll_does_not_advance", item="corpus:more_than_a_thousand_agents")
class HeartbeatsPileUp(WorkerBus):
    """Every heartbeat is one more row of liveness."""

    def liveness(self) -> dict[str, Any]:
        agents = super().liveness()["agents"]
        return {"agents": [*agents, *agents]}


@fault("worker.presence.15", item="corpus:mirrors_decide_nothing")
def last_writer_wins():
    """A transition does not look at the present state."""

    class Believed(str):
        """Any state that a caller names, except the one that it goes to."""

        __slots__ = ()
        __hash__ = str.__hash__

        def __ne__(self, other: object) -> bool:
            return False

    present_state = states.States._present_state

    def as_believed(self: states.States, tx: Transaction, worker: str) -> str | None:
        state = present_state(self, tx, worker)
        return None if state is None else Believed(state)

    patch(states.States, _present_state=as_believed)


@fault("worker.presence.15", "worker.log.66", item="corpus:races")
class LooksThenActs(WorkerBus):
    """A transition looks at the present state before it takes the lock."""

    def transition(self, worker: str, to_state: str, from_state: str | None = None) -> Any:
        limits.name("worker", worker)
        if row := self.db.row("SELECT state FROM worker_states WHERE worker = ?", (worker,)):
            self.states._present_state = lambda tx, name: row[0]
        try:
            return super().transition(worker, to_state, from_state)
        finally:
            self.states.__dict__.pop("_present_state", None)


@fault("worker.presence.02", item="corpus:06076")
def never_blocked():
    """An agent cannot say that it is blocked."""
    patch(presence, STATUSES=("idle", "working"))


@fault("worker.presence.01", control="log.fields", item="corpus:06087")
class NoProgressAtZero(WorkerBus):
    """A progress of 0 is no progress."""

    def heartbeat(self, agent_id: str, status: str, current_task: Any = None, progress: Any = None) -> Any:
        return super().heartbeat(agent_id, status, current_task, None if progress == 0 else progress)


@fault("worker.presence.12")
def no_way_back_from_review():
    """IN_REVIEW cannot go back to WORKING."""
    states.TRANSITIONS["IN_REVIEW"].discard("WORKING")


@fault("worker.presence.17", item="corpus:mirrors_decide_nothing")
def no_worker_file():
    """The worker's state is not told in a file."""

    class Faulty(states.States):
        def _mirror(self, *_: Any) -> None:
            return None

    patch(bus, States=Faulty)


@fault("worker.presence.18", item="corpus:state_changes_are_signed")
class OldestStatusFirst(WorkerBus):
    """The status query gives the oldest first."""

    def status(self, limit: int = 100) -> dict[str, Any]:
        return {"rows": super().status(1000)["rows"][::-1][:limit]}


@fault("worker.presence.11")
def quiet_transitions():
    """A transition publishes nothing."""

    class Faulty(states.States):
        def announce(self, *_: Any) -> None:
            return None

    patch(bus, States=Faulty)


@fault("worker.presence.05", item="corpus:edges_of_time")
def stale_late():
    """STALE begins two milliseconds late."""
    patch(presence, THRESHOLDS_MS=((300_000, "DEAD"), (100_002, "STALE"), (30_000, "WARN")))


@fault("worker.presence.19", item="corpus:state_changes_are_signed")
class StatusNamesTs(WorkerBus):
    """The status query's time column is ts (W13)."""

    def status(self, limit: int = 100) -> dict[str, Any]:
        rows = super().status(limit)["rows"]
        return {"rows": [{("ts" if key == "ts_ms" else key): value for key, value in row.items()} for row in rows]}


@fault("worker.presence.18", item="corpus:81247")
class StatusShowsTen(WorkerBus):
    """The status query shows ten rows by default."""

    def status(self, limit: int = 10) -> Any:
        return super().status(limit)


@fault("worker.presence.10", control="cursor.poll_does_not_advance")
class TheDeadStayDead(WorkerBus):
    """A dead agent's heartbeat is not taken."""

    def heartbeat(self, agent_id: str, status: str, current_task: Any = None, progress: Any = None) -> dict[str, Any]:
        if any(row["agent_id"] == agent_id and row["state"] == "DEAD" for row in self.liveness()["agents"]):
            return {}
        return super().heartbeat(agent_id, status, current_task, progress)


@fault("worker.presence.07", item="corpus:beats_of_a_stranger")
def warns_early():
    """WARN begins a millisecond early."""
    patch(presence, THRESHOLDS_MS=((300_000, "DEAD"), (100_000, "STALE"), (29_999, "WARN")))


@fault("worker.presence.04", item="corpus:edges_of_time")
def warns_late():
    """WARN begins two milliseconds late."""
    patch(presence, THRESHOLDS_MS=((300_000, "DEAD"), (100_000, "STALE"), (30_002, "WARN")))
