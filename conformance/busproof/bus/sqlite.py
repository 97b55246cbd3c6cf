"""`sqlite:`: the kit itself joins the database file that another bus uses (a mixed fleet).

Each participant is an independent implementation of a seed's core, in the seed's own SQL; it shares no code with the
reference, so each side must read the rows that the other writes.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from busproof.bus.asleep import OURS
from busproof.bus.base import Refused
from busproof.bus.participant import Participant
from busproof.contract import CONTRACTS


class SqliteDoor:
    """The participant of the system that hello names."""

    stderr = ""
    pid = None
    serves_many = True
    store: Path | None = None

    def __init__(self) -> None:
        self._participant: Participant | None = None

    def get_ready(self, system: str) -> None:
        """Say hello."""
        self.call("hello", {"protocol": ["1"], "system": system})

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """Run the method; SQLite's errors become refusals."""
        if method == "hello":
            self._participant = _participant(str(params["system"]))
        if self._participant is None:
            raise Refused("NOT_OPEN", "hello comes first", definite=True)
        return self._participant.call(method, params)

    def processes(self) -> list[Path]:
        """This process."""
        return [OURS]

    def kill(self) -> None:
        """As a kill would leave it."""
        if self._participant is not None:
            self._participant.kill()

    def close(self) -> None:
        """Leave the store."""
        self.kill()


def _participant(system: str) -> Participant:
    module, _, name = CONTRACTS[system].participant.partition(":")
    if not module:
        raise Refused("INVALID_ARGUMENT", f"the kit has no participant for {system}", definite=True)
    made: Participant = getattr(import_module(module), name)()
    return made
