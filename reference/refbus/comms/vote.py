"""Voting: a vote opens with `vote.initiate`, takes `vote.cast` until its deadline, and can then be tallied for good.

The id of the opening message is the vote's id. One agent has one vote: its last before the deadline counts.
"""

from __future__ import annotations

import json
from typing import TypedDict

from refbus.comms.envelope import Envelope
from refbus.comms.store import Store
from refbus.kernel import iso
from refbus.kernel.errors import InvalidArgument, NotFound, VoteClosed
from refbus.kernel.rules import limit as limits
from refbus.kernel.transaction import Transaction


class Tally(TypedDict):
    """tally: how a vote stands."""

    vote_id: str
    topic: str
    options: list[str]
    deadline: str
    closed: bool
    counts: dict[str, int]  # by option
    votes: dict[str, str]  # agent to option
    winners: list[str]  # the options with most votes; none without votes


class Votes:
    """tally; and `heed`, the step of sending that opens votes and counts them."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def tally(self, vote_id: str) -> Tally:
        """How the vote stands; from its deadline on `closed` is true and nothing changes any more.

        Errors: INVALID_ARGUMENT, NOT_FOUND.
        """
        limits.text("vote_id", vote_id)
        # Under the lock: no vote that was cast in time is still on its way when the tally says `closed`.
        with self.store.transaction() as tx:
            topic, options, deadline = _vote(tx, vote_id)
            casts = dict(
                tx.rows("SELECT agent_id, option FROM vote_casts WHERE vote_id = ? ORDER BY agent_id", (vote_id,))
            )
            is_closed = tx.now_us >= iso.parse("deadline", deadline)
        counts = {option: sum(chosen == option for chosen in casts.values()) for option in options}
        most = max(counts.values())
        return {
            "vote_id": vote_id,
            "topic": topic,
            "options": options,
            "deadline": deadline,
            "closed": is_closed,
            "counts": counts,
            "votes": casts,
            "winners": [option for option in options if counts[option] == most > 0],
        }

    def heed(self, tx: Transaction, envelope: Envelope) -> None:
        """Let a message that is being sent act on its vote; if it is refused here, it is not sent.

        Errors: INVALID_ARGUMENT, NOT_FOUND, VOTE_CLOSED.
        """
        if envelope.type == "vote.initiate":
            self.open_vote(tx, envelope)
        elif envelope.type == "vote.cast":
            self.cast_vote(tx, envelope)

    def open_vote(self, tx: Transaction, envelope: Envelope) -> None:
        """The message that opens a vote is the vote."""
        payload = json.loads(envelope.payload)
        options = payload["options"]
        if len(options) < 2 or len(set(options)) < len(options):
            raise InvalidArgument("a vote needs at least two options, all different")
        if iso.parse("deadline", payload["deadline"]) <= tx.now_us:
            raise InvalidArgument(f"the deadline {payload['deadline']} has passed")
        tx.execute(
            "INSERT INTO votes (vote_id, topic, options, deadline, initiated_by) VALUES (?, ?, ?, ?, ?)",
            (envelope.id, payload["topic"], json.dumps(options), payload["deadline"], envelope.from_agent),
        )

    def cast_vote(self, tx: Transaction, envelope: Envelope) -> None:
        """The agent's vote from now on."""
        payload = json.loads(envelope.payload)
        _, options, deadline = _vote(tx, payload["vote_id"])
        if payload["option"] not in options:
            raise InvalidArgument(f"{payload['option']!r:.80} is no option of this vote: {options!r:.200}")
        if tx.now_us >= iso.parse("deadline", deadline):
            raise VoteClosed(f"the vote closed at {deadline}")
        tx.execute(
            "INSERT OR REPLACE INTO vote_casts (vote_id, agent_id, option, reasoning, cast_at) VALUES (?, ?, ?, ?, ?)",
            (payload["vote_id"], envelope.from_agent, payload["option"], payload.get("reasoning"), envelope.timestamp),
        )


def _vote(tx: Transaction, vote_id: str) -> tuple[str, list[str], str]:
    row = tx.row("SELECT topic, options, deadline FROM votes WHERE vote_id = ?", (vote_id,))
    if row is None:
        raise NotFound(f"there is no vote {vote_id!r:.80}")
    return row[0], json.loads(row[1]), row[2]
