"""Health: agents' reports on themselves, and counters that are true whatever happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refbus.comms.bus import CommsBus
from refbus.kernel.clock import Clock
from refbus.kernel.errors import InvalidArgument, NotFound

T0_MS = 1_768_053_600_000  # where the clock of these tests stands
OpenBus = Callable[..., CommsBus]
Send = Callable[..., str]
NEVER = "1970-01-01T00:00:00.000000Z"


def test_a_heartbeat_says_that_an_agent_lives(bus: CommsBus, clock: Clock) -> None:
    """It also says its task; the last one counts (seed: send_heartbeat)."""
    bus.send_heartbeat("bob", "active", "build")
    clock.set(T0_MS + 30_000)
    bus.send_heartbeat("bob", "degraded")
    assert bus.get_agent_health("bob") == {
        "agent_id": "bob",
        "status": "degraded",
        "current_task": None,
        "last_heartbeat": "2026-01-10T14:00:30.000000Z",
        "messages_pending": 0,
        "messages_processed": 0,
        "error_count": 0,
    }


def test_an_agent_that_was_never_seen_has_no_health(bus: CommsBus) -> None:
    """Definite; and asking makes no row."""
    with pytest.raises(NotFound) as caught:
        bus.get_agent_health("bob")
    assert caught.value.definite
    assert bus.dump()["agent_status"] == []


def test_a_recipient_that_was_never_seen_gets_its_row(bus: CommsBus, send: Send) -> None:
    """Idle, heard of never; a broadcast has no single recipient (C12)."""
    send(None)
    assert bus.dump()["agent_status"] == []
    send("bob")
    health = bus.get_agent_health("bob")
    assert (health["status"], health["last_heartbeat"], health["messages_pending"]) == ("idle", NEVER, 1)
    bus.send_heartbeat("bob", "active")
    assert bus.get_agent_health("bob")["messages_pending"] == 1


@pytest.mark.parametrize(
    ("agent", "status", "task"),
    [
        ("a/b", "idle", None),
        ("", "idle", None),
        ("bob", "working", None),
        ("bob", None, None),
        ("bob", "idle", 5),
        ("bob", "idle", ""),
    ],
)
def test_bad_arguments_are_refused(bus: CommsBus, agent: Any, status: Any, task: Any) -> None:
    """active, idle, degraded or failed, and nothing else (seed: Agent Status Table)."""
    with pytest.raises(InvalidArgument):
        bus.send_heartbeat(agent, status, task)
    assert bus.dump()["agent_status"] == []


steps = st.lists(
    st.tuples(
        st.sampled_from(["send", "broadcast", "claim", "done", "fail", "pass", "cleanup", "redrive", "health"]),
        st.sampled_from(["bob", "carol"]),
        st.integers(0, 5),
    ),
    max_size=40,
)


class Life:
    """Plays steps on a bus and counts for itself what was completed."""

    def __init__(self, bus: CommsBus) -> None:
        self.bus, self.ids = bus, [""]
        self.done: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()

    def play(self, step: str, agent: str, number: int) -> None:
        bus, message_id = self.bus, self.ids[number % len(self.ids)]
        if step in ("send", "broadcast"):
            to_agent = agent if step == "send" else None
            self.ids.append(bus.send_message("alice", to_agent, "note", {}, ttl_seconds=30 * number)["message_id"])
        elif step in ("done", "fail"):
            self._complete(agent, step)
        elif step == "claim" and message_id:
            bus.claim_message(agent, message_id)
        elif step == "pass":
            bus.store.clock.set(bus.store.clock.now_ms() + 20_000 * number)
        elif step == "cleanup":
            bus.cleanup_expired_messages()
        elif step == "redrive":
            for letter in bus.dead_letters()["dead_letters"][:1]:
                bus.redrive(letter["id"])

    def _complete(self, agent: str, how: str) -> None:
        for row in self.bus.dump()["deliveries"]:
            if (row["agent_id"], row["status"]) == (agent, "processing"):
                self.bus.complete_message(row["message_id"], "boom" if how == "fail" else None, agent)
                (self.errors if how == "fail" else self.done)[agent] += 1
                return


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_counters_equal_what_the_tables_say_at_all_times(open_bus: OpenBus, clock: Clock, told: list[Any]) -> None:
    """Sends, claims, failures, time-outs, expiry, dead letters and the way back, in any order (C12)."""
    clock.set(T0_MS)
    bus = open_bus(rate_capacity=1e9)
    for table in ("messages", "message_deliveries", "dead_letter_queue", "agent_status", "audit_log"):
        bus.store.db.write(f"DELETE FROM {table}")
    life = Life(bus)
    for step in told:
        life.play(*step)
        tables = bus.dump()
        pending = Counter(row["to_agent"] for row in tables["messages"] if row["status"] == "pending")
        for row in tables["agent_status"]:
            agent = row["agent_id"]
            assert row["messages_pending"] == pending.pop(agent, 0), step
            assert (row["messages_processed"], row["error_count"]) == (life.done[agent], life.errors[agent]), step
        assert set(pending) <= {None}


def test_what_is_due_again_is_pending_again(bus: CommsBus, send: Send, clock: Clock) -> None:
    """Health asks the clock, too: a claim or a delay that is over counts (C1, C2, C12)."""
    timed_out, failed = send(), send()
    bus.claim_message("bob", timed_out)
    bus.claim_message("bob", failed)
    bus.complete_message(failed, "boom")
    for at_ms, pending in ((0, 0), (1000, 1), (59_999, 1), (60_000, 2)):
        clock.set(T0_MS + at_ms)
        assert bus.get_agent_health("bob")["messages_pending"] == pending
