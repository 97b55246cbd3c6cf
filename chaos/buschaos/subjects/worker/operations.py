"""The operations of `worker`, and a store with something of every noun."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from buschaos.operations import BIG, LATER_MS, WAITS_S, Operation, applicable, tell_time
from buschaos.subjects.base import LateCall, PeerCall
from buschaos.subjects.worker.files import move_the_export_away
from busproof.bus.session import Session
from busproof.contract import HelloReply
from busproof.contract.common import T0_MS


@dataclass(frozen=True)
class Prepared:
    """The facts that the operations must know of the store that was prepared."""

    last_seq: int
    token: int | None  # of alice's claim on `held`
    doomed_seq: int | None  # of dora's dead letter


def prepare(alice: Session, bob: Session, hello: HelloReply) -> Prepared:
    """Put something of every noun into a store: messages, a blob, a cursor, claims, an export that lags, a worker."""

    def declared(*needs: str) -> bool:
        return applicable(Operation("", "", "", lambda _: {}, needs), hello)

    for session in (alice, bob):
        tell_time(session, hello, T0_MS)
    for agent in () if declared("late_readers") else ("bob", "fred"):
        alice.call("poll", agent_id=agent)
    alice.call("publish", message={"id": "first", "to": "bob", "type": "note", "payload": {"n": 1}})
    to_all = {} if declared("broadcast") else {"to": "bob"}
    alice.call("publish", message={"id": "second", **to_all, "type": "note", "payload": [1, 2]})
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
    doomed_seq = _doom(alice) if declared(*_BURIES) else None
    for session in (alice, bob):
        tell_time(session, hello, T0_MS + LATER_MS)
    if declared("lease"):
        token = alice.call("try_claim_task", task_id="held").get("token")
    if declared("presence"):
        alice.call("heartbeat", status="working", current_task="held", progress=0.5)
    if declared("states"):
        alice.call("transition", worker="wanda", to_state="ASSIGNED")
    if declared("blob"):
        alice.call("publish", message={"id": "big", "to": "bob", "type": "note", "payload": f"large {BIG}"})
    alice.call("publish", message={"id": "last", "to": "bob", "type": "note"})
    _only(alice, "fred", "single")
    if declared(*_BURIES):
        _fail(alice)
    if declared("wait"):
        for message in alice.call("poll", agent_id="gus")["messages"]:
            alice.call("ack", agent_id="gus", seq=message["seq"])
    return Prepared(bob.call("poll")["messages"][-1]["seq"], token, doomed_seq)


def _doom(alice: Session) -> int:
    """A dead letter: dora fails it, on a session that counts."""
    _open(alice, {"deliveries_max": 1})
    seq = _only(alice, "dora", "doomed")
    for _ in range(3):
        alice.call("process_loop", agent_id="dora", fail_ids=["doomed"])
    _open(alice, {})
    return seq


def _fail(alice: Session) -> None:
    """Erna fails a message once, and may fail it once more."""
    _open(alice, dict(_BURIED_SOON))
    _only(alice, "erna", "failing")
    alice.call("process_loop", agent_id="erna", fail_ids=["failing"])
    _open(alice, {})


def _open(alice: Session, options: dict[str, Any]) -> None:
    alice.door.call("open", {"store": str(alice.door.store), "options": options})
    if alice.now_ms is not None:
        alice.set_clock(alice.now_ms)


def _only(alice: Session, agent: str, message: str) -> int:
    """A message that is all the agent has to read; its seq."""
    alice.call("publish", message={"id": message, "to": agent, "type": "note"})
    *others, last = alice.call("poll", agent_id=agent)["messages"]
    for other in others:
        alice.call("ack", agent_id=agent, seq=other["seq"])
    seq: int = last["seq"]
    return seq


_BURIES = ("dead_letter", "process_loop")
_BURIED_SOON = (("deliveries_max", 2),)


def _message(id_: str, payload: Any) -> dict[str, Any]:
    return {"id": id_, "to": "bob", "type": "note", "correlation_id": "c", "payload": payload}


def _held(prepared: Prepared) -> dict[str, Any]:
    shown = {} if prepared.token is None else {"token": prepared.token}
    return {"task_id": "held", "agent_id": "alice", **shown}


def _is_saved(session: Session, params: dict[str, Any], reply: dict[str, Any]) -> str:
    content = session.call("load_blob", ref=reply["ref"])["content"]
    return "" if content == params["content"] else "saves another content"


def _is_back(session: Session, _params: dict[str, Any], _reply: dict[str, Any]) -> str:
    waiting = [message["id"] for message in session.call("poll", agent_id="dora")["messages"]]
    return "" if "doomed" in waiting else "does not bring the message back"


def _older(store: Path) -> None:
    """The file of a program that knew neither versions nor the tables that came with them: version 0, without these."""
    with contextlib.closing(sqlite3.connect(store / "bus.db", isolation_level=None)) as connection:
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('dead_letters', 'deliveries')"
        for (name,) in connection.execute(tables).fetchall():
            connection.execute(f'DROP TABLE "{name}"')
        connection.execute("DELETE FROM meta WHERE key = 'schema_version'")


def ids(method: str, params: dict[str, Any]) -> set[str]:
    """Ids of the messages that a call publishes."""
    messages = [params["message"]] if method == "publish" else params.get("messages", [])
    return {message["id"] for message in messages}


OPERATIONS = (
    Operation("open", "log", "open", lambda _: {}, empty_store=True),
    Operation("open again", "log", "open", lambda _: {}),
    Operation("open, an older file", "log", "open", lambda _: {}, ("migration",), ages=_older),
    Operation("publish", "log", "publish", lambda _: {"agent_id": "alice", "message": _message("new", {"n": 2})}),
    Operation(
        "publish with blob",
        "blob",
        "publish",
        lambda _: {"agent_id": "alice", "message": _message("new-blob", BIG + "!")},
        ("blob",),
    ),
    Operation(
        "publish_many",
        "log",
        "publish_many",
        lambda _: {"agent_id": "alice", "messages": [_message(f"new-{n}", "y" * 300) for n in range(30)]},
        ("publish_many",),
    ),
    Operation(
        "publish_many with blobs",
        "blob",
        "publish_many",
        lambda _: {"agent_id": "alice", "messages": [_message(f"new-large-{n}", BIG + "!" * n) for n in range(3)]},
        ("blob", "publish_many"),
    ),
    Operation(
        "publish, signed and bounded",
        "log",
        "publish",
        lambda _: {"agent_id": "alice", "message": _message("new", {"n": 2})},
        ("signing", "backpressure"),
        options=(("signing_key", "5a" * 32), ("unread_max", 100)),
    ),
    Operation(
        "process_loop",
        "cursor",
        "process_loop",
        lambda _: {"agent_id": "fred"},
        ("process_loop",),
        comes_first=True,
        is_at_least_once=True,
    ),
    Operation(
        "process_loop to the dead letters",
        "retry",
        "process_loop",
        lambda _: {"agent_id": "erna", "fail_ids": ["failing"]},
        _BURIES,
        options=_BURIED_SOON,
        is_at_least_once=True,
    ),
    Operation("poll", "cursor", "poll", lambda _: {"agent_id": "bob"}, shows=("messages",)),
    Operation("ack", "cursor", "ack", lambda prepared: {"agent_id": "bob", "seq": prepared.last_seq}),
    Operation(
        "try_claim_task",
        "lease",
        "try_claim_task",
        lambda _: {"task_id": "free", "agent_id": "bob"},
        ("lease",),
        says=("claimed",),
    ),
    Operation(
        "try_claim_task, expired",
        "lease",
        "try_claim_task",
        lambda _: {"task_id": "stale", "agent_id": "bob"},
        ("lease", "clock"),
        says=("claimed",),
    ),
    Operation("renew_claim", "lease", "renew_claim", _held, ("lease",), says=("renewed",)),
    Operation("release_claim", "lease", "release_claim", _held, ("lease",), says=("released",)),
    Operation(
        "heartbeat",
        "presence",
        "heartbeat",
        lambda _: {"agent_id": "alice", "status": "idle", "progress": 1.0},
        ("presence",),
    ),
    Operation(
        "transition",
        "presence",
        "transition",
        lambda _: {"worker": "wanda", "from_state": "ASSIGNED", "to_state": "WORKING"},
        ("states",),
    ),
    Operation(  # of a worker of which the store has nothing yet
        "transition, the first",
        "presence",
        "transition",
        lambda _: {"worker": "wilma", "to_state": "ASSIGNED"},
        ("states",),
    ),
    Operation(
        "redrive",
        "retry",
        "redrive",
        lambda prepared: {"agent_id": "dora", "seq": prepared.doomed_seq},
        ("dead_letter", "process_loop"),
        confirm=_is_back,
    ),
    Operation("export_to_jsonl", "export", "export_to_jsonl", lambda _: {}, ("export",)),
    Operation("save_blob", "blob", "save_blob", lambda _: {"content": {"big": BIG}}, ("blob",), confirm=_is_saved),
    Operation("search", "search", "search", lambda _: {"query": "three"}, ("search",), shows=("messages",)),
    Operation(  # a message that it cannot read now must be found later
        "search in a blob", "search", "search", lambda _: {"query": "large"}, ("search", "blob"), shows=("messages",)
    ),
    Operation("archive", "log", "archive", lambda _: {}, ("archive",)),
    Operation("close", "log", "close", lambda _: {}),
)

READS = frozenset({"dead_letters", "dump", "liveness", "load_blob", "poll_intervals", "status", "worker_state"})


def _still_mine(
    _: Prepared, call: dict[str, Any], mine: dict[str, Any], theirs: dict[str, Any]
) -> dict[str, Any] | None:
    """The proof of its lease that the victim shows, once the peer has it."""
    token = {"token": mine["token"]} if "token" in mine else {}
    return {**call, **token} if theirs.get("claimed") else None


_LATE = tuple(LateCall(method, _still_mine, ("task_claims",), "lease") for method in ("renew_claim", "release_claim"))
_WRITERS = ("publish", "publish with blob", "publish_many", "transition")
_HOUR_MS = 3_600_000

# Faults that two may cause: a claim taken twice, a lease taken back, a line written twice, a number given twice.
PEERS = (
    PeerCall(
        "a claim of the same task",
        "try_claim_task",
        lambda _: {"task_id": "free", "agent_id": "carol"},
        ("try_claim_task",),
        needs=("lease",),
    ),
    PeerCall(
        "a claim of the same expired task",
        "try_claim_task",
        lambda _: {"task_id": "stale", "agent_id": "carol"},
        ("try_claim_task, expired",),
        needs=("lease", "clock"),
    ),
    PeerCall(
        "a claim after the lease",
        "try_claim_task",
        lambda _: {"task_id": "held", "agent_id": "carol"},
        ("renew_claim", "release_claim"),
        needs=("lease", "clock"),
        later_ms=_HOUR_MS,
        late=_LATE,
    ),
    PeerCall(
        "a claim after the lease that it got",
        "try_claim_task",
        lambda _: {"task_id": "free", "agent_id": "carol"},
        ("try_claim_task",),
        needs=("lease", "clock"),
        later_ms=_HOUR_MS,
        late=_LATE,
    ),
    PeerCall(
        "a claim by an agent whose clock is behind",
        "try_claim_task",
        lambda _: {"task_id": "held", "agent_id": "carol"},
        ("release_claim",),
        needs=("lease", "clock"),
        later_ms=-_HOUR_MS,
    ),
    PeerCall(
        "a publish",
        "publish",
        lambda _: {"agent_id": "carol", "message": _message("peer", {"n": 9})},
        # Not another loop of the same agent: both may handle a message that neither has acknowledged (at least once).
        (*_WRITERS, "export_to_jsonl", "archive", "ack", "process_loop", "process_loop to the dead letters"),
    ),
    PeerCall(
        "a publish of the same message",
        "publish",
        lambda _: {"agent_id": "alice", "message": _message("new", {"n": 2})},
        ("publish",),
    ),
    # By the same agent elsewhere, of less: the cursor never goes back.
    PeerCall("an earlier ack", "ack", lambda p: {"agent_id": "bob", "seq": p.last_seq - 1}, ("ack",), agent="bob"),
    # By somebody who was never there: nothing that it was shown may go before it has read it.
    PeerCall(
        "a first ack, a poll, and a poll later",
        "ack",
        lambda _: {"agent_id": "newcomer", "seq": 0},
        ("archive",),
        agent="newcomer",
        then=("poll", lambda _: {"agent_id": "newcomer"}),
        later=(("poll", lambda _: {"agent_id": "newcomer"}),),
    ),
    # A poll that looks for one and then for the other may be shown the second alone, and acknowledge both.
    PeerCall(
        "a batch for it and for all",
        "publish_many",
        lambda _: {
            "agent_id": "carol",
            "messages": [_message("for-it", {"n": 1}), {"id": "for-all", "type": "note", "payload": {"n": 2}}],
        },
        ("poll",),
    ),
    PeerCall("a poll", "poll", lambda _: {"agent_id": "bob"}, (*_WRITERS, "archive")),
    PeerCall(
        "an export", "export_to_jsonl", lambda _: {}, ("export_to_jsonl", "publish", "archive"), needs=("export",)
    ),
    PeerCall(
        "an export, a publish, and an export later",
        "export_to_jsonl",
        lambda _: {},
        ("export_to_jsonl",),
        needs=("export",),
        then=("publish", lambda _: {"agent_id": "carol", "message": _message("peer", {"n": 9})}),
        later=(("export_to_jsonl", lambda _: {}),),
    ),
    PeerCall(
        "a publish and an export",
        "publish",
        lambda _: {"agent_id": "carol", "message": _message("peer", {"n": 9})},
        ("export_to_jsonl",),
        needs=("export",),
        then=("export_to_jsonl", lambda _: {}),
    ),
    PeerCall(
        "a publish, an export, and bus.jsonl is moved away",
        "publish",
        lambda _: {"agent_id": "carol", "message": _message("peer", {"n": 9})},
        ("export_to_jsonl",),
        needs=("export",),
        then=("export_to_jsonl", lambda _: {}),
        deed=move_the_export_away,
    ),
    PeerCall("the same blob", "save_blob", lambda _: {"content": {"big": BIG}}, ("save_blob",), needs=("blob",)),
    PeerCall("another blob", "save_blob", lambda _: {"content": {"big": BIG, "n": 2}}, ("save_blob",), needs=("blob",)),
    PeerCall(
        "the same transition",
        "transition",
        lambda _: {"worker": "wanda", "from_state": "ASSIGNED", "to_state": "CANCELLED"},
        ("transition",),
        needs=("states",),
    ),
    PeerCall("an archival", "archive", lambda _: {}, ("archive", "publish", "process_loop"), needs=("archive",)),
)

# Gus has read all there is.
WAITS = (
    (
        Operation(
            "poll that waits", "cursor", "poll", lambda _: {"agent_id": "gus", "wait_ms": 1000 * WAITS_S}, ("wait",)
        ),
        PeerCall(
            "what it waits for",
            "publish",
            lambda _: {"agent_id": "carol", "message": {"id": "awaited", "to": "gus", "type": "note"}},
            ("poll that waits",),
            ends_a_wait=True,
        ),
    ),
)
