"""`sqlite:`: the kit itself joins the database file that another bus uses (a mixed fleet).

Each participant is an independent implementation of a seed's core, in the seed's own SQL; it shares no code with the
reference, so what one side writes the other must read.
"""

from __future__ import annotations

from typing import Any

from busproof.adapters.participant import Participant
from busproof.adapters.sqlite_comms import CommsParticipant
from busproof.adapters.sqlite_topics import TopicsParticipant
from busproof.adapters.sqlite_worker import WorkerParticipant

PARTICIPANTS: dict[str, type[Participant]] = {
    "worker": WorkerParticipant,
    "comms": CommsParticipant,
    "topics": TopicsParticipant,
}


class SqliteDoor:
    """The participant of the system that hello names."""

    stderr = ""

    def __init__(self) -> None:
        self._participant: Participant = WorkerParticipant()

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """Run the method; SQLite's errors become refusals."""
        if method == "hello":
            self._participant = PARTICIPANTS[params["system"]]()
        return self._participant.call(method, params)

    def kill(self) -> None:
        """As a kill would leave it."""
        self._participant.kill()

    def close(self) -> None:
        """Leave the store."""
        self._participant.close()
