"""The operations of `topics`, and a database with a topic on which alice has something to read.

A session is nobody until it joins, so each comes as alice first (`enter`), unless the operation is its first call. A
call is idempotent if it leaves the same state: a sync with auto_advance is at most once and returns nothing again (B4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from buschaos.operations import WAITS_S, Operation
from buschaos.subjects.base import LateCall, PeerCall
from busproof.bus.session import Session
from busproof.contract import HelloReply


@dataclass(frozen=True)
class Prepared:
    """The facts that the operations must know of the database that was prepared: topic ids, and reclaim tokens."""

    topic: str
    token: str  # alice's
    bobs_token: str
    other: str
    last: str


def prepare(alice: Session, bob: Session, hello: HelloReply) -> Prepared:
    """Bob sent four messages, alice one between them; she has acknowledged the first. Two more topics are empty."""
    topic = alice.call("topic_create", name="work")["topic_id"]
    token = alice.call("topic_join", topic_id=topic, agent_name="alice")["reclaim_token"]
    bobs_token = bob.call("topic_join", topic_id=topic, agent_name="bob")["reclaim_token"]
    for sender, name in ((bob, "first"), (bob, "second"), (alice, "own"), (bob, "third"), (bob, "fourth")):
        how = {"auto_advance": False, "ack_through": 1 if name == "own" else 0, "wait_seconds": 0}
        # One word is in all of them, and alice's is the longest: a search lists it last.
        content = f"{name} note" + " that is longer" * (name == "own")
        sender.call("sync", topic_id=topic, outbox=[_item(name, content_markdown=content)], **how)
    # A call that closes a topic, or makes its caller another agent, has its own: a disk is filled for all operations.
    other, last = (alice.call("topic_create", name=name)["topic_id"] for name in ("other", "last"))
    return Prepared(topic, token, bobs_token, other, last)


def enter(session: Session, prepared: Prepared) -> None:
    """Be alice, even if another session was alice before; a session of bob's is bob."""
    is_bob = session.agent == "bob"
    name, token = ("bob", prepared.bobs_token) if is_bob else ("alice", prepared.token)
    session.call("topic_join", topic_id=prepared.topic, agent_name=name, reclaim_token=token)


def _as_alice(prepared: Prepared) -> dict[str, Any]:
    return {"topic_id": prepared.topic, "agent_name": "alice", "reclaim_token": prepared.token}


def _item(name: str, **more: Any) -> dict[str, Any]:
    return {"content_markdown": name, "client_message_id": name, **more}


def _on_topic(prepared: Prepared, **more: Any) -> dict[str, Any]:
    return {"topic_id": prepared.topic, **more}


def _sync(prepared: Prepared, **more: Any) -> dict[str, Any]:
    return _on_topic(prepared, wait_seconds=0, **more)


def ids(_method: str, params: dict[str, Any]) -> set[str]:
    """The ids by which a call's messages are known again."""
    return {item["client_message_id"] for item in params.get("outbox", [])}


def _is_found(session: Session, params: dict[str, Any], reply: dict[str, Any]) -> str:
    shown = [[hit["snippet"] for hit in page["results"]] for page in (reply, session.call("messages_search", **params))]
    if any(len(hits) != 1 for hits in shown):
        return f"finds {shown}, and one message says so"
    # A message that is indexed twice takes another's place; else a limit as large as all matches leaves nothing out.
    count = session.call("messages_search", query="note", mode="fts", limit=5)["count"]
    return "" if count == 5 else f"leaves an index by which five messages of one word are {count}"


_KEEPS: dict[str, Any] = {"auto_advance": False}
_MANY = [_item(f"many-{number}") for number in range(50)]

OPERATIONS = (
    Operation(
        "topic_create on no database",
        "log",
        "topic_create",
        lambda _: {"name": "first"},
        empty_store=True,
        is_first=True,
    ),
    Operation("topic_create", "route", "topic_create", lambda _: {"name": "new", "metadata": {"n": 1}}),
    Operation(
        # Without the answer a caller has no token, and the name is reserved for the life of the topic (seed, 2.3).
        "topic_join",
        "lease",
        "topic_join",
        lambda p: {"topic_id": p.other, "agent_name": "carol"},
        is_first=True,
        again=("AGENT_NAME_IN_USE",),
    ),
    Operation("topic_join, reclaimed", "lease", "topic_join", _as_alice, is_first=True),
    Operation(
        "sync that sends",
        "log",
        "sync",
        lambda p: _sync(p, outbox=[_item("new"), _item("newer", metadata={"n": 1})], **_KEEPS),
    ),
    # As many as an outbox may have: they are stored all at once, or not at all.
    Operation("sync that sends many", "log", "sync", lambda p: _sync(p, outbox=_MANY, **_KEEPS)),
    # All there is, or the second call would read on.
    Operation("sync that receives", "cursor", "sync", _sync),
    Operation("sync that looks", "cursor", "sync", lambda p: _sync(p, **_KEEPS)),
    Operation("sync that acknowledges", "cursor", "sync", lambda p: _sync(p, ack_through=4, **_KEEPS)),
    Operation("sync that sends and receives", "cursor", "sync", lambda p: _sync(p, outbox=[_item("newest")])),
    Operation("cursor_reset", "cursor", "cursor_reset", _on_topic),
    Operation(
        # The first search writes its index: in whatever state that is left, the next one finds the message.
        "messages_search",
        "search",
        "messages_search",
        lambda _: {"query": "fourth", "mode": "fts"},
        ("search",),
        confirm=_is_found,
    ),
    Operation("topic_close", "route", "topic_close", lambda p: {"topic_id": p.last, "reason": "done"}),
)

READS = frozenset({"ping", "tools.list", "topic_list", "topic_presence", "topic_resolve"})
LIKE = {"open": "the first call of a server makes its database", "close": "a server ends with its client"}

_READERS = ("sync that receives", "sync that acknowledges", "sync that sends and receives", "cursor_reset")


def _still_me(p: Prepared, *_: dict[str, Any]) -> dict[str, Any]:
    """Another session has the name by now."""
    return _sync(p, outbox=[_item("late")])


# Two want the same name, one topic's next number, or a topic that the other closes.
PEERS = (
    PeerCall("a send", "sync", lambda p: _sync(p, outbox=[_item("peer")], **_KEEPS), ("sync that sends", *_READERS)),
    # By the same agent elsewhere, of less: the cursor never goes back.
    PeerCall(
        "an earlier acknowledgement",
        "sync",
        lambda p: _sync(p, ack_through=2, **_KEEPS),
        ("sync that acknowledges",),
        agent="alice",
    ),
    PeerCall("a topic of the same name", "topic_create", lambda _: {"name": "new"}, ("topic_create",)),
    PeerCall(
        "a join under the same name",
        "topic_join",
        lambda p: {"topic_id": p.other, "agent_name": "carol"},
        ("topic_join",),
    ),
    PeerCall("a join as the same agent", "topic_join", _as_alice, ("topic_join, reclaimed", "sync that receives")),
    PeerCall(
        "a join as the same agent, and its send",
        "topic_join",
        _as_alice,
        ("sync that sends",),
        agent="alice",
        then=("sync", lambda p: _sync(p, outbox=[_item("peer")], **_KEEPS)),
        late=(LateCall("sync", _still_me, ("messages", "cursors"), "lease", is_dialect=True),),
    ),
    PeerCall(
        "the end of the topic", "topic_close", lambda p: {"topic_id": p.topic}, ("sync that sends", "cursor_reset")
    ),
)

# Alice acknowledges all there is, and waits for more.
WAITS = (
    (
        Operation(
            "sync that waits",
            "cursor",
            "sync",
            lambda p: _on_topic(p, auto_advance=False, ack_through=5, wait_seconds=WAITS_S),
        ),
        PeerCall(
            "what it waits for",
            "sync",
            lambda p: _sync(p, outbox=[_item("awaited")], **_KEEPS),
            ("sync that waits",),
            ends_a_wait=True,
        ),
    ),
)
