"""The toy's promises."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from busproof.contract.common import SESSION_METHODS, Contract, Empty, Params, Reply, methods


class NoteParams(Params):
    """Write one note; a retry with the same id is the same note."""

    agent_id: str
    id: str
    text: str


class NoteReply(Reply):
    """Its place, where the bus tells it."""

    seq: int | None = None


class NotesReply(Reply):
    """All notes, the oldest first."""

    notes: list[dict[str, Any]]


class DumpReply(Reply):
    """The state of the store."""

    messages: list[dict[str, Any]]


CONTRACT = Contract(
    system="toy",
    methods=SESSION_METHODS
    | methods(
        ("note", "log", None, NoteParams, NoteReply),
        ("notes", "log", None, Empty, NotesReply),
        ("dump", None, "dump", Empty, DumpReply),
    ),
    features={"dump": "the whole state of the store"},
    error_codes={"BUSY": True},
    profiles={"core": ("log",), "full": ("log",)},
    trials={"note": {"agent_id": "doctor", "id": "d1", "text": "t"}, "notes": {}, "dump": {}},
    store=PurePosixPath("toy.db"),
    tables="CREATE TABLE notes (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, agent_id TEXT, text TEXT)",
    reference="toy.bus",
    callers=("agent_id",),
    columns={"note": {"key": ("params.id",), "seq": ("reply.seq",)}},
    package="toy",
)
