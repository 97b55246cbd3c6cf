"""Votes: opened, cast, and counted for good at the deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from refbus.comms.bus import CommsBus
from refbus.kernel.clock import Clock
from refbus.kernel.errors import InvalidArgument, NotFound, VoteClosed

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


def test_votes_are_counted(bus: CommsBus, send: Send) -> None:
    """One agent, one vote: its last counts (seed: vote.initiate, vote.cast)."""
    vote = open_vote(send)
    assert bus.tally(vote) == {
        "vote_id": vote,
        "topic": "which?",
        "options": ["tabs", "spaces"],
        "deadline": DEADLINE,
        "closed": False,
        "counts": {"tabs": 0, "spaces": 0},
        "votes": {},
        "winners": [],
    }
    for agent, option in (("bob", "tabs"), ("carol", "spaces"), ("dave", "tabs"), ("bob", "spaces")):
        cast(send, vote, agent, option, reasoning="because")
    tally = bus.tally(vote)
    assert tally["votes"] == {"bob": "spaces", "carol": "spaces", "dave": "tabs"}
    assert (tally["counts"], tally["winners"]) == ({"tabs": 1, "spaces": 2}, ["spaces"])


def test_a_tie_has_two_winners(bus: CommsBus, send: Send) -> None:
    """Nobody said who breaks it."""
    vote = open_vote(send)
    cast(send, vote, "bob", "tabs")
    cast(send, vote, "carol", "spaces")
    assert bus.tally(vote)["winners"] == ["tabs", "spaces"]


def test_at_the_deadline_the_tally_is_final(bus: CommsBus, send: Send, clock: Clock) -> None:
    """The last millisecond before still counts; the refused vote is not sent either."""
    vote = open_vote(send)
    clock.set(T0_MS + 59_999)
    cast(send, vote, "bob", "tabs")
    assert not bus.tally(vote)["closed"]
    clock.set(T0_MS + 60_000)
    final, messages = bus.tally(vote), len(bus.dump()["messages"])
    assert final["closed"] and final["winners"] == ["tabs"]
    with pytest.raises(VoteClosed) as caught:
        cast(send, vote, "bob", "spaces")
    assert caught.value.definite
    assert len(bus.dump()["messages"]) == messages
    assert bus.tally(vote) == final


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


def test_a_vote_outlives_its_messages(bus: CommsBus, send: Send, clock: Clock) -> None:
    """Expired and cleaned up, it can still be tallied."""
    vote = open_vote(send)
    cast(send, vote, "bob", "tabs")
    clock.set(T0_MS + 10**10)
    assert bus.cleanup_expired_messages() == {"deleted": 2}
    assert bus.tally(vote)["votes"] == {"bob": "tabs"}


@pytest.mark.parametrize(
    "fields",
    [
        {"options": ["one"]},
        {"options": []},
        {"options": ["a", "a"]},
        {"options": "ab"},
        {"topic": None},
        {"deadline": "2026-01-10T14:00:00Z"},
        {"deadline": "2026-01-10T15:00:00"},
        {"deadline": "later"},
    ],
)
def test_what_is_no_vote_is_not_opened(bus: CommsBus, send: Send, fields: dict[str, Any]) -> None:
    """Two options, all different; a deadline that tells its zone and has not passed."""
    with pytest.raises(InvalidArgument):
        open_vote(send, **fields)
    assert bus.dump()["messages"] == []


def test_what_is_no_option_or_no_vote_is_not_cast(bus: CommsBus, send: Send) -> None:
    """And leaves no message."""
    vote = open_vote(send)
    with pytest.raises(InvalidArgument):
        cast(send, vote, "bob", "both")
    for call in (lambda: cast(send, "unknown", "bob", "tabs"), lambda: bus.tally("unknown")):
        with pytest.raises(NotFound):
            call()
    assert len(bus.dump()["messages"]) == 1
    assert bus.tally(vote)["votes"] == {}
