"""The operations of `relay`: one pass over a folder with something of everything, and the opening."""

from __future__ import annotations

import hashlib
from typing import Any

from buschaos.operations import LATER_MS, Operation, tell_time
from buschaos.subjects.base import PeerCall
from buschaos.subjects.relay.agents import LINKED, File, join, message, put
from busproof.protocol import HelloReply
from busproof.session import Session
from busproof.suite import T0_MS

_BIG = b"x" * 9000
_HASH = hashlib.sha256(_BIG).hexdigest()

# What waits for the pass that is killed: every way of a message, and what is no message.
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
    File("cid", "1-00000015.msg", b"no message"),
    File("cid", "1-00000016.msg", b""),
)


def prepare(alice: Session, _bob: Session, hello: HelloReply) -> None:
    """A folder that has worked: agents, a subscription, an archive; then what the operations find."""
    store = alice.door.store
    assert store is not None
    tell_time(alice, hello, T0_MS)
    join(store, LINKED)
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


OPERATIONS = (
    Operation("open", "log", "open", lambda _: {}, empty_store=True),
    Operation("open again", "log", "open", lambda _: {}),
    Operation("scan", "log", "scan", lambda _: {}),
    Operation("close", "lease", "close", lambda _: {}),
)

# One at a time: another that comes is refused, or has the folder to itself.
PEERS = (PeerCall("another orchestrator", "open", lambda _: {}, ("open again", "close")),)

READS = frozenset({"audit", "dump", "metrics", "status"})
LIKE = {
    "backup": "it writes one file, outside of the folder",
    "restore": "one transaction of SQLite; a pass that follows it moves files, so it cannot be played twice",
}
