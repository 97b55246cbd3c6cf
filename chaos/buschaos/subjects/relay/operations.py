"""The operations of `relay`: one pass over a folder with something of everything, and the opening."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from buschaos.operations import LATER_MS, Operation, tell_time
from buschaos.subjects.base import PeerCall
from buschaos.subjects.relay.agents import LINKED, File, allow, be_rude, begun, join, link, message, put, running, until
from busproof.bus.session import Session
from busproof.contract import HelloReply
from busproof.contract.common import T0_MS

_BIG = b"x" * 9000
_HASH = hashlib.sha256(_BIG).hexdigest()

# The files that wait for the pass that is killed: every way of a message, and files that are no message.
FILES = (
    message("ann", 10, "bob", "to one"),
    message("bob", 11, "*", "to all"),
    message("cid", 12, "#dev", "to a channel"),
    message("ann", 13, "__orchestrator__", "SUBSCRIBE: #dev", "KIND: status"),
    message("bob", 14, "#dev", "to a larger channel"),
    message("cid", 15, "__orchestrator__", "ACTION: save\nstate", "KIND: continuity"),
    message("cid", 16, "__orchestrator__", "ACTION: load", "KIND: continuity"),
    message("ann", 17, "cid", "with an attachment", f"ATTACHMENT: sha256:{_HASH}"),
    message("ann", 18, "cid", "with a lost attachment", f"ATTACHMENT: sha256:{'0' * 64}"),
    message("bob", 19, "nobody", "to be tried again"),
    message("bob", 20, "no address", "to fail"),
    message(LINKED, 21, "no address", "to be written anew"),
    File("cid", "1-00000015.msg", b"no message"),
    File("cid", "1-00000016.msg", b""),
)


def prepare(alice: Session, _bob: Session, hello: HelloReply) -> None:
    """A folder that has worked: agents, a subscription, an archive; then the files that the operations find."""
    store = alice.door.store
    assert store is not None
    tell_time(alice, hello, T0_MS)
    join(store, LINKED)
    allow(store)
    put(
        store,
        [message("bob", 1, "__orchestrator__", "SUBSCRIBE: #dev", "KIND: status"), message("ann", 2, "cid", "early")],
    )
    alice.call("scan")
    tell_time(alice, hello, T0_MS + LATER_MS)
    place = store / "attachments" / _HASH[:2]
    place.mkdir(parents=True, exist_ok=True)
    (place / _HASH).write_bytes(_BIG)
    put(store, FILES)


def ids(method: str, _params: dict[str, Any]) -> set[str]:
    """No call brings a message: files do, and the next pass enters them."""
    return {file.id for file in FILES} if method == "scan" else set()


def asked_to_spawn(session: Session) -> None:
    """All else is done; a request to start an agent waits."""
    session.call("scan")
    put(_store(session), [_request(30, "spawn", "NAME: w\nCLI: waits")])


def asked_to_release(session: Session) -> None:
    """An agent has been started, and a request to end it waits."""
    asked_to_spawn(session)
    session.call("scan")
    begun(_store(session))
    put(_store(session), [_request(31, "release", "NAME: w")])


def released(session: Session, _params: dict[str, Any], _reply: dict[str, Any]) -> str:
    """The one that came after a death can end all that lives: then nothing is left."""
    store = _store(session)
    alive = sorted({agent["agent"] for agent in running(store)})
    put(store, [_request(number, "release", f"NAME: {agent}") for number, agent in enumerate(alive, 40)])
    session.call("scan")
    left = until(lambda: running(store), lambda agents: not agents)
    return f"and a release leave processes: {left}" if left else ""


def _request(number: int, kind: str, body: str) -> File:
    return message("ann", number, "__orchestrator__", body, f"KIND: {kind}")


def _store(session: Session) -> Path:
    assert session.door.store is not None
    return session.door.store


OPERATIONS = (
    Operation("open", "log", "open", lambda _: {}, empty_store=True),
    Operation("open again", "log", "open", lambda _: {}),
    Operation("scan", "log", "scan", lambda _: {}),
    Operation("scan, an inbox is a link", "route", "scan", lambda _: {}, ages=link),
    Operation("close", "lease", "close", lambda _: {}),
    Operation("spawn", "presence", "scan", lambda _: {}, ("spawn",), first=asked_to_spawn, confirm=released),
    Operation("release", "presence", "scan", lambda _: {}, ("spawn",), first=asked_to_release, confirm=released),
)

# One at a time: another that comes is refused, or has the folder to itself.
PEERS = (PeerCall("another orchestrator", "open", lambda _: {}, ("open again", "close")),)

# One agent is rude: its own files and copies are not compared, the others' all are.
OTHERS = {"scan": be_rude}

READS = frozenset({"audit", "dump", "metrics", "status"})
LIKE = {
    "backup": "it writes one file, outside of the folder",
    "restore": "one transaction of SQLite; a pass that follows it moves files, so it cannot be played twice",
}
