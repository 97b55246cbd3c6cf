"""Voting: a vote opens with `vote.initiate`, takes `vote.cast` until its deadline, and can then be tallied for good.

The id of the opening message is the vote's id. One agent has one vote: its last before the deadline counts.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from refbus.comms.envelope import Envelope
from refbus.comms.request import Requests
from refbus.kernel import iso
from refbus.kernel.errors import InvalidArgument, NotFound, VoteClosed
from refbus.kernel.rules import limit as limits


class Votes(Requests):
    """tally; and what sending a vote's messages records."""

    def tally(self, vote_id: str) -> dict[str, Any]:
        """How the vote stands; from its deadline on `closed` is true and nothing changes any more."""
        limits.text("vote_id", vote_id)
        with self.db.transaction("BEGIN") as connection:
            vote = _vote(connection, vote_id)
            casts = dict(
                connection.execute(
                    "SELECT agent_id, option FROM vote_casts WHERE vote_id = ? ORDER BY agent_id", (vote_id,)
                ).fetchall()
            )
        topic, options, deadline = vote
        counts = {option: sum(chosen == option for chosen in casts.values()) for option in options}
        most = max(counts.values())
        return {
            "vote_id": vote_id,
            "topic": topic,
            "options": options,
            "deadline": deadline,
            "closed": self.clock.now_us() >= iso.parse("deadline", deadline),
            "counts": counts,
            "votes": casts,
            "winners": [option for option in options if counts[option] == most > 0],
        }

    def _insert(self, connection: sqlite3.Connection, envelope: Envelope, expires_at: str | None) -> None:
        super()._insert(connection, envelope, expires_at)
        if envelope.type == "vote.initiate":
            self._open_vote(connection, envelope)
        elif envelope.type == "vote.cast":
            self._cast_vote(connection, envelope)

    def _open_vote(self, connection: sqlite3.Connection, envelope: Envelope) -> None:
        said = json.loads(envelope.payload)
        options = said["options"]
        if len(options) < 2 or len(set(options)) < len(options):
            raise InvalidArgument("a vote needs at least two options, all different")
        if iso.parse("deadline", said["deadline"]) <= self.clock.now_us():
            raise InvalidArgument(f"the deadline {said['deadline']} has passed")
        connection.execute(
            "INSERT INTO votes (vote_id, topic, options, deadline, initiated_by) VALUES (?, ?, ?, ?, ?)",
            (envelope.id, said["topic"], json.dumps(options), said["deadline"], envelope.from_agent),
        )

    def _cast_vote(self, connection: sqlite3.Connection, envelope: Envelope) -> None:
        said = json.loads(envelope.payload)
        _, options, deadline = _vote(connection, said["vote_id"])
        if said["option"] not in options:
            raise InvalidArgument(f"{said['option']!r:.80} is no option of this vote: {options!r:.200}")
        if self.clock.now_us() >= iso.parse("deadline", deadline):
            raise VoteClosed(f"the vote closed at {deadline}")
        connection.execute(
            "INSERT OR REPLACE INTO vote_casts (vote_id, agent_id, option, reasoning, cast_at) VALUES (?, ?, ?, ?, ?)",
            (said["vote_id"], envelope.from_agent, said["option"], said.get("reasoning"), envelope.timestamp),
        )


def _vote(connection: sqlite3.Connection, vote_id: str) -> tuple[str, list[str], str]:
    row = connection.execute("SELECT topic, options, deadline FROM votes WHERE vote_id = ?", (vote_id,)).fetchone()
    if row is None:
        raise NotFound(f"there is no vote {vote_id!r:.80}")
    return row[0], json.loads(row[1]), row[2]
