"""The state that a bus left, without a history: its database, live or a copy, agents' folders, an export, a JetStream.

Only facts that a state shows by itself can be judged: numbers unique, dense if that is promised, cursors and exports
not beyond them, references that lead somewhere (`busproof.oddities`, which `busproof doctor` asks, too). Only a history
tells whether a message was lost, delivered in order or given to two at once.
"""

from __future__ import annotations

import json
from pathlib import Path

from busproof.contract import CONTRACTS
from busproof.oddities import jetstream
from busproof.oddities.examine import Findings, in_files, in_server, in_store, store_in
from busproof.oddities.library import is_database
from busproof.oddities.lines import odd_lines

NUMBERS = {"seq": "as an export of a worker bus", "audit_seq": "as the audit trail of a comms bus"}


def state_of(place: str) -> Findings | None:
    """The oddities there; None if it is no state of a bus. Raises jetstream.Unreachable."""
    if (server := jetstream.server_of(place)) is not None:
        return in_server(*server)
    return None if "://" in place else _state_at(Path(place))


def _state_at(path: Path) -> Findings | None:
    if path.is_dir():
        store = store_in(path)
        if store is not None:
            return in_store(store, "relay" if store == path / CONTRACTS["relay"].store else None)
        if (server := jetstream.server_of(f"nats:{path}")) is not None:
            return in_server(*server)
        return in_files(path) if (path / "agents").is_dir() else None
    if not path.is_file():
        return None
    if is_database(path):
        return in_store(path)
    key = next((key for key in NUMBERS if key in _first_line(path)), None)
    if key is None:
        return None
    return Findings(path, NUMBERS[key], list(odd_lines(path, key, is_shared=key == "audit_seq")))


def _first_line(path: Path) -> dict[str, object]:
    """The first line of a file of JSON Lines that is no history."""
    try:
        with path.open("rb") as file:
            members = json.loads(file.readline())
    except (ValueError, RecursionError):
        return {}
    return members if isinstance(members, dict) and "mono_ns" not in members else {}
