"""The operations whose every write point is killed, and the store on which they are played.

An operation needs no rules of its own. On a prepared store it is played once without a nemesis; the state before and
the state after are then all that may be found when a kill cut it short, and the state after is what a retry must
reach. So a new operation is a new row here.

It must be idempotent: playing it twice is playing it once. `process_loop` is not, and its writes are those of `ack`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from busproof.fleet import Fleet
from busproof.history import Recorder
from busproof.protocol import HelloReply
from busproof.session import Session
from busproof.suite import T0_MS

LATER_MS = 90_000  # from the first part of the preparation to the second: longer than a lease
WHEN_MS = (
    T0_MS + LATER_MS + 10_000
)  # when the operations happen: later again, or a renewal would change nothing
BIG = "x" * 9000  # a payload for a blob, three pages long


@dataclass(frozen=True)
class Prepared:
    """What the operations must know of the store that was prepared."""

    last_seq: int
    token: int | None  # of alice's claim on `held`


@dataclass(frozen=True)
class Operation:
    """One call; `needs` are nouns and features without which it is not applicable."""

    name: str
    noun: str  # whose rows it decides
    method: str
    params: Callable[[Prepared], dict[str, Any]]
    needs: tuple[str, ...] = ()
    empty_store: bool = False  # played on an empty folder
    says: tuple[
        str, ...
    ] = ()  # what its reply must not deny: a refused claim is no claim, a full disk no contention

    def ids(self, prepared: Prepared) -> set[str]:
        """Ids of the messages that it publishes."""
        params = self.params(prepared)
        messages = [params["message"]] if "message" in params else params.get("messages", [])
        return {message["id"] for message in messages}


def applicable(operation: Operation, hello: HelloReply) -> bool:
    """Does the bus declare all that the operation needs?"""
    declared = {*hello.nouns, *hello.features, *(["clock"] if hello.clock == "manual" else [])}
    return set(operation.needs) <= declared


def prepare_store(fleet: Fleet, folder: Path, history: Path) -> Prepared:
    """Fill a store, then kill those who did it, so that whoever comes next finds a write-ahead log to recover."""
    folder.mkdir()
    doors = [fleet.door(number, folder, {}) for number in range(2)]
    with contextlib.closing(Recorder(history, run="points", system=fleet.system)) as recorder:
        alice, bob = (
            Session(door, recorder, process=number, agent=name)
            for number, (door, name) in enumerate(zip(doors, ("alice", "bob"), strict=True))
        )
        prepared = _prepare(alice, bob, fleet.hello)
    for door in doors:
        fleet.give_back(door, retired=True)
    return prepared


def _prepare(alice: Session, bob: Session, hello: HelloReply) -> Prepared:
    """Put something of every noun into a store: messages, a blob, a cursor, claims, an export that lags, a worker."""

    def declared(*needs: str) -> bool:
        return applicable(Operation("", "", "", lambda _: {}, needs), hello)

    for session in (alice, bob):
        tell_time(session, hello, T0_MS)
    alice.call("publish", message={"id": "first", "to": "bob", "type": "note", "payload": {"n": 1}})
    alice.call("publish", message={"id": "second", "type": "note", "payload": [1, 2]})
    alice.call("publish", message={"id": "third", "to": "bob", "type": "note", "payload": "three"})
    delivered = bob.call("poll")["messages"]
    bob.call("ack", seq=delivered[1]["seq"])
    token = None
    if declared("lease"):
        alice.call("try_claim_task", task_id="stale")
    if declared("export"):
        alice.call("export_to_jsonl")
    for session in (alice, bob):
        tell_time(session, hello, T0_MS + LATER_MS)
    if declared("lease"):
        token = alice.call("try_claim_task", task_id="held").get("token")
    if declared("presence"):
        alice.call("heartbeat", status="working", current_task="held", progress=0.5)
    if declared("states"):
        alice.call("transition", worker="wanda", to_state="ASSIGNED")
    if declared("blob"):
        alice.call("publish", message={"id": "big", "to": "bob", "type": "note", "payload": BIG})
    alice.call("publish", message={"id": "last", "to": "bob", "type": "note"})
    return Prepared(bob.call("poll")["messages"][-1]["seq"], token)


def tell_time(session: Session, hello: HelloReply, now_ms: int) -> None:
    if hello.clock == "manual":
        session.set_clock(now_ms)


def _message(id_: str, payload: Any) -> dict[str, Any]:
    return {"id": id_, "to": "bob", "type": "note", "correlation_id": "c", "payload": payload}


def _held(prepared: Prepared) -> dict[str, Any]:
    shown = {} if prepared.token is None else {"token": prepared.token}
    return {"task_id": "held", "agent_id": "alice", **shown}


OPERATIONS = (
    Operation("open", "log", "open", lambda _: {}, empty_store=True),
    Operation("open again", "log", "open", lambda _: {}),
    Operation("publish", "log", "publish", lambda _: {"agent_id": "alice", "message": _message("new", {"n": 2})}),
    Operation(
        "publish with blob", "blob", "publish",
        lambda _: {"agent_id": "alice", "message": _message("new-blob", BIG + "!")}, ("blob",),
    ),
    Operation(
        "publish_many", "log", "publish_many",
        lambda _: {"agent_id": "alice", "messages": [_message(f"new-{n}", "y" * 300) for n in range(30)]},
        ("publish_many",),
    ),
    Operation("ack", "cursor", "ack", lambda prepared: {"agent_id": "bob", "seq": prepared.last_seq}),
    Operation(
        "try_claim_task", "lease", "try_claim_task", lambda _: {"task_id": "free", "agent_id": "bob"}, ("lease",),
        says=("claimed",),
    ),
    Operation(
        "try_claim_task, expired", "lease", "try_claim_task",
        lambda _: {"task_id": "stale", "agent_id": "bob"}, ("lease", "clock"), says=("claimed",),
    ),
    Operation("renew_claim", "lease", "renew_claim", _held, ("lease",), says=("renewed",)),
    Operation("release_claim", "lease", "release_claim", _held, ("lease",), says=("released",)),
    Operation(
        "heartbeat", "presence", "heartbeat", lambda _: {"agent_id": "alice", "status": "idle", "progress": 1.0},
        ("presence",),
    ),
    Operation(
        "transition", "presence", "transition",
        lambda _: {"worker": "wanda", "from_state": "ASSIGNED", "to_state": "WORKING"}, ("states",),
    ),
    Operation("export_to_jsonl", "export", "export_to_jsonl", lambda _: {}, ("export",)),
    Operation("save_blob", "blob", "save_blob", lambda _: {"content": {"big": BIG}}, ("blob",)),
    Operation("archive", "log", "archive", lambda _: {}, ("archive",)),
    Operation("close", "log", "close", lambda _: {}),
)  # fmt: skip
