"""The final state of a store: as the bus dumps it, else as the kit's own participant reads the seed's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from busproof.adapters.sqlite import SqliteDoor
from busproof.protocol import HelloReply
from busproof.session import Session

WHY_NOT = "the bus declares neither `dump` nor `sqlite`, so nobody can tell what it stored"


def can_dump(hello: HelloReply) -> bool:
    """Is there a way to the whole state?"""
    return not {"dump", "sqlite"}.isdisjoint(hello.features)


def dump(session: Session, store: Path, hello: HelloReply) -> dict[str, Any]:
    """The state, recorded as a `dump` of this session."""
    if "dump" in hello.features:
        return session.call("dump")
    door = SqliteDoor()
    try:
        door.call("hello", {"protocol": ["1"], "system": session.recorder.system})
        door.call("open", {"store": str(store), "options": {}})
        return Session(door, session.recorder, process=session.process, agent=session.agent).call("dump")
    finally:
        door.close()
