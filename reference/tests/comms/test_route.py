"""Receiving: the messages that an agent is shown, their order, and that looking changes nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from refbus.comms.bus import CommsBus
from refbus.kernel.clock import Clock

T0_MS = 1_768_053_600_000  # where the clock of these tests stands
OpenBus = Callable[..., CommsBus]
Send = Callable[..., str]


def shown(bus: CommsBus, agent: str = "bob", *channels: str, limit: int = 10) -> list[str]:
    """The ids that an agent receives."""
    return [m["id"] for m in bus.receive_messages(agent, list(channels) or ["general"], limit)["messages"]]


def test_strangers_rows_take_their_place(bus: CommsBus, send: Send, stranger_sends: Send) -> None:
    """Times without microseconds sort among the others to the second."""
    sent = send(priority=5)
    stranger_sends("late", timestamp="2026-01-10T14:00:01Z")
    stranger_sends("early", timestamp="2026-01-10T13:59:59Z")
    stranger_sends("high", timestamp="2026-01-10T15:00:00Z", priority=6)
    assert shown(bus) == ["high", "early", sent, "late"]


@pytest.mark.parametrize("priority", ["high", b"\0", 7.5])
def test_a_strangers_odd_priority_hides_nobodys_messages(
    bus: CommsBus, send: Send, stranger_sends: Send, priority: Any
) -> None:
    """SQLite stores a text in an INTEGER column; only that message's own place is anybody's guess."""
    sent = send()
    stranger_sends("odd", priority=priority, timestamp=b"\xff" if priority == b"\0" else "2026-01-10T14:00:00Z")
    assert sorted(shown(bus)) == sorted([sent, "odd"])


@pytest.mark.parametrize("odd", [None, b"\xff", "", "a\0b", "a\nb", "x" * 1025, "no UTF-8"])
def test_what_no_claim_can_name_is_not_shown(
    bus: CommsBus, stranger: sqlite3.Connection, stranger_sends: Send, odd: Any
) -> None:
    """Otherwise a reader that works until nothing is left never ends (C27)."""
    stranger_sends(odd, priority=10)
    stranger_sends("named", priority=9)
    stranger.execute("UPDATE messages SET id = CAST(x'61ff' AS TEXT) WHERE id = 'no UTF-8'")
    assert shown(bus, limit=1) == ["named"]
    while messages := shown(bus):
        assert all(bus.claim_message("bob", message)["claimed"] for message in messages)


def test_what_can_be_claimed_throughout_is_shown_whatever_others_do_meanwhile(
    open_bus: OpenBus, send: Send, clock: Clock
) -> None:
    """Channels and messages that are due again are of one moment: another process looks after a claim, or sends."""
    bus, other = open_bus(), open_bus()
    claimed = send()
    other.claim_message("bob", claimed)
    clock.set(T0_MS + 3_600_000 - 1)  # its claim is over, its life is not
    meanwhile = [
        lambda: other.get_agent_health("bob"),
        lambda: other.send_message("alice", "bob", "note", {}, "other", priority=1),
    ]
    statements: list[str] = []

    def at_each_statement(sql: str) -> None:
        statements.append(sql)
        if "FROM" in sql and len(statements) > 2 and meanwhile:
            meanwhile.pop()()

    connection = bus.store.db.connection()
    connection.set_trace_callback(at_each_statement)
    assert shown(bus, "bob", "general", "other") == [claimed]
    connection.set_trace_callback(None)
    assert not meanwhile
