"""Votes: opened, cast, and counted for good at the deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from refbus.comms.bus import CommsBus
from refbus.kernel.clock import Clock

OpenBus = Callable[..., CommsBus]
T0_MS = 1_768_053_600_000  # where the clock of these tests stands
Send = Callable[..., str]
DEADLINE = "2026-01-10T15:01:00+01:00"  # a minute from then


def open_vote(send: Send, **fields: Any) -> str:
    """A vote of alice's; its id."""
    payload = {"topic": "which?", "options": ["tabs", "spaces"], "deadline": DEADLINE, **fields}
    return send(None, "vote.initiate", payload=payload)


def cast(send: Send, vote_id: str, agent: str, option: str, **fields: Any) -> str:
    """One agent's vote."""
    return send(None, "vote.cast", from_agent=agent, payload={"vote_id": vote_id, "option": option, **fields})


def test_a_tally_that_says_closed_has_every_vote_that_was_in_time(
    bus: CommsBus, open_bus: OpenBus, send: Send, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is cast in time and not yet committed at the deadline: the tally waits for it, and is final."""
    vote, other, tallies = open_vote(send), open_bus(), []
    has_looked = threading.Event()  # or asks for the lock that the cast holds

    def tally() -> None:
        other.store.db.connection().set_trace_callback(lambda sql: sql == "BEGIN IMMEDIATE" and has_looked.set())
        tallies.append(other.tally(vote))
        has_looked.set()

    tallying = threading.Thread(target=tally)
    heed = bus.votes.heed

    def heed_and_be_late(*arguments: Any) -> None:
        heed(*arguments)
        clock.set(T0_MS + 60_000)
        tallying.start()
        assert has_looked.wait(30)

    monkeypatch.setattr(bus.votes, "heed", heed_and_be_late)
    cast(send, vote, "bob", "tabs")
    tallying.join(30)
    assert tallies == [bus.tally(vote)]
    assert tallies[0]["closed"] and tallies[0]["winners"] == ["tabs"]
