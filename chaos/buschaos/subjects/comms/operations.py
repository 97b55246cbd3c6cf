"""The operations of `comms`, and a project with something of every noun."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from typing import Any

from buschaos.operations import BIG, LATER_MS, WAITS_S, Operation, applicable, tell_time
from buschaos.subjects.base import LateCall, PeerCall
from buschaos.subjects.comms.files import append_as_a_hook
from busproof.bus.session import Session
from busproof.contract import HelloReply
from busproof.contract.common import T0_MS

MINUTE_MS = 60_000
_LONG = "e" * 65_536


_CENTURY_MS = 100 * 365 * 86_400_000
_VOTE = {"topic": "which", "options": ["this", "that"], "deadline": "2100-01-01T00:00:00.000000Z"}


@dataclass(frozen=True)
class Prepared:
    """The facts that the operations must know of the project that was prepared."""

    ids: dict[str, str]  # the ids of the messages, by their state
    envelope: dict[str, Any]  # of the one that awaits a response
    letter: str | None = None  # the dead letter
    old_letter: str | None = None  # of a broadcast that has expired


def prepare(alice: Session, bob: Session, hello: HelloReply) -> Prepared:
    """Messages to bob in every state: waiting, in hand, failed twice and in hand, abandoned, shared, dead, expired."""
    for session in (alice, bob):
        tell_time(session, hello, T0_MS)
    sent = {
        name: alice.call("send_message", to_agent="bob", message_type="note", payload={"of": name})["message_id"]
        for name in ("waiting", "held", "failing", "abandoned", "asked", "long")
    }
    sent["shared"] = alice.call("send_message", message_type="note", payload={"of": "shared"})["message_id"]
    if "audit" in hello.features:  # from here on it lags
        alice.call("export_audit_trail")
    bob.call("claim_message", message_id=sent["abandoned"])
    if applicable(Operation("", "", "", lambda _: {}, ("retry", "clock")), hello):
        sent["dead"] = alice.call("send_message", to_agent="bob", message_type="note", payload={})["message_id"]
        for name, to in (("expired", "bob"), ("expired for all", None)):
            old: dict[str, Any] = {"message_type": "note", "payload": {"of": name}, "ttl_seconds": LATER_MS // 1000}
            sent[name] = alice.call("send_message", to_agent=to, **old)["message_id"]
        for turn in range(3):
            for name in ("failing", "dead", "expired for all") if turn < 2 else ("dead", "expired for all"):
                bob.call("claim_message", message_id=sent[name])
                bob.call("complete_message", message_id=sent[name], error=f"error {turn}")
            tell_time(bob, hello, T0_MS + (turn + 1) * 10_000)
    for session in (alice, bob):
        tell_time(session, hello, T0_MS + LATER_MS)
    for name in ("held", "failing", "asked"):
        bob.call("claim_message", message_id=sent[name])
    if applicable(Operation("", "", "", lambda _: {}, ("presence",)), hello):
        alice.call("send_heartbeat", status="active", current_task="held")
    if applicable(Operation("", "", "", lambda _: {}, ("blob",)), hello):
        alice.call("write_artifact", task_id="old", content={"of": "old"})
    alice.call("subscribe_to_channel", channel_name="urgent")
    if "votes" in hello.features:
        sent["vote"] = alice.call("send_message", message_type="vote.initiate", payload=_VOTE)["message_id"]
    if applicable(Operation("", "", "", lambda _: {}, ("retry",)), hello):
        # Its event tells why, and is the last line of the trail: longer than the part of a file that is read at a time.
        bob.call("claim_message", message_id=sent["long"])
        bob.call("complete_message", message_id=sent["long"], error=_LONG)
    letters: dict[str, str | None] = {}
    if "dead" in sent and "redrive" in hello.features:
        letters_told = alice.call("dead_letters")["dead_letters"]
        for name in ("dead", "expired for all"):
            letters[name] = next((letter["id"] for letter in letters_told if sent[name] in json.dumps(letter)), None)
    envelope = {
        "id": sent["asked"],
        "type": "context.query",
        "version": "1.0",
        "timestamp": "2026-01-10T14:00:00.000000Z",
        "correlation_id": None,
        "from_agent": "alice",
        "to_agent": "bob",
        "channel": "general",
        "priority": 5,
        "payload": {"query": "q"},
    }
    return Prepared(sent, envelope, letters.get("dead"), letters.get("expired for all"))


def _new(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def _send(name: str, **more: Any) -> dict[str, Any]:
    return {
        "from_agent": "alice",
        "to_agent": "bob",
        "message_type": "note",
        "payload": {"of": name},
        "message_id": _new(name),
        **more,
    }


def _of(prepared: Prepared, name: str, **more: Any) -> dict[str, Any]:
    return {"agent_id": "bob", "message_id": prepared.ids[name], **more}


def ids(method: str, params: dict[str, Any]) -> set[str]:
    """The id of the message that a call sends."""
    return {params["message_id"]} if method.startswith("send_") and "message_id" in params else set()


_SEND = ("idempotent_send",)


def _once(operation: Operation) -> Operation:
    """The same by a sender that can give no id, on a bus that takes none."""

    def params(prepared: Prepared) -> dict[str, Any]:
        return {name: value for name, value in operation.params(prepared).items() if name != "message_id"}

    needs = tuple(name for name in operation.needs if name not in _SEND)
    return replace(operation, name=f"{operation.name}, once", params=params, needs=needs, lacks=_SEND, is_once=True)


_OPERATIONS = (
    Operation("open", "log", "open", lambda _: {}, empty_store=True),
    Operation("open again", "log", "open", lambda _: {}),
    Operation("send_message", "log", "send_message", lambda _: _send("new"), _SEND),
    Operation("send_message to all", "log", "send_message", lambda _: _send("to all", to_agent=None), _SEND),
    Operation("send_message, large", "log", "send_message", lambda _: _send("large", payload={"x": BIG}), _SEND),
    Operation("claim_message", "lease", "claim_message", lambda p: _of(p, "waiting")),
    Operation("claim_message, abandoned", "lease", "claim_message", lambda p: _of(p, "abandoned"), ("clock",)),
    Operation("claim_message of a broadcast", "lease", "claim_message", lambda p: _of(p, "shared")),
    Operation("complete_message", "lease", "complete_message", lambda p: _of(p, "held")),
    Operation("complete_message, failed", "retry", "complete_message", lambda p: _of(p, "held", error="e"), ("retry",)),
    Operation(
        "complete_message to the dead letters",
        "retry",
        "complete_message",
        lambda p: _of(p, "failing", error="e"),
        ("retry", "clock"),
    ),
    Operation("redrive", "retry", "redrive", lambda p: {"id": p.letter}, ("redrive", "retry", "clock")),
    Operation(
        "redrive of an expired broadcast",
        "retry",
        "redrive",
        lambda p: {"id": p.old_letter},
        ("redrive", "retry", "clock"),
    ),
    Operation(
        "send_with_retry",
        "retry",
        "send_with_retry",
        lambda _: {"base_delay": 0.001, **_send("retried")},
        ("send_with_retry", *_SEND),
    ),
    Operation(
        "vote.cast",
        "log",
        "send_message",
        lambda p: _send(
            "cast", message_type="vote.cast", payload={"vote_id": p.ids["vote"], "option": "this", "reasoning": "r"}
        ),
        ("votes", *_SEND),
    ),
    Operation(
        "send_response",
        "route",
        "send_response",
        lambda p: {
            "agent_id": "bob",
            "original_message": p.envelope,
            "response_payload": {"context": {"n": 1}},
            "message_id": _new("response"),
        },
        _SEND,
    ),
    Operation(
        "send_heartbeat",
        "presence",
        "send_heartbeat",
        lambda _: {"agent_id": "alice", "status": "degraded"},
        ("presence",),
    ),
    Operation(  # it has abandoned a message, which is due again
        "get_agent_health", "presence", "get_agent_health", lambda _: {"agent_id": "bob"}, ("presence", "clock")
    ),
    Operation(
        "subscribe_to_channel",
        "route",
        "subscribe_to_channel",
        lambda _: {"agent_id": "bob", "channel_name": "reviews"},
    ),
    Operation(
        "unsubscribe_from_channel",
        "route",
        "unsubscribe_from_channel",
        lambda _: {"agent_id": "alice", "channel_name": "urgent"},
    ),
    Operation("tally", "log", "tally", lambda p: {"vote_id": p.ids["vote"]}, ("votes",), shows=("counts", "votes")),
    Operation(
        "write_artifact",
        "blob",
        "write_artifact",
        lambda _: {"agent_id": "alice", "task_id": "new", "content": {"x": BIG}},
        ("blob",),
    ),
    Operation(
        "write_artifact again",
        "blob",
        "write_artifact",
        lambda _: {"agent_id": "alice", "task_id": "old", "content": {"x": BIG}},
        ("blob",),
    ),
    Operation("cleanup_expired_messages", "log", "cleanup_expired_messages", lambda _: {}),
    Operation("export_audit_trail", "export", "export_audit_trail", lambda _: {}, ("audit",)),
    Operation("close", "log", "close", lambda _: {}),
)
# Except send_with_retry: without an id its own retries would be other messages.
_SENDS = [op for op in _OPERATIONS if {*_SEND} <= {*op.needs} and op.method != "send_with_retry"]
OPERATIONS = (*_OPERATIONS[:-1], *map(_once, _SENDS), _OPERATIONS[-1])

READS = frozenset(
    {
        "circuit_breaker",
        "dead_letters",
        "dump",
        "get_subscribed_channels",
        "read_artifact",
        "receive_messages",
        "retry_delays",
        "validate_message",
    }
)
FORGETS = frozenset({"cleanup_expired_messages"})
LIKE = {"request": "its correlation is new each time; send_message, claim_message and complete_message write the same"}


def _still_mine(
    _: Prepared, call: dict[str, Any], mine: dict[str, Any], theirs: dict[str, Any]
) -> dict[str, Any] | None:
    """The claim that the victim had, once the peer has another."""
    if not (mine.get("claimed") and theirs.get("claimed")) or "delivery_count" not in mine:
        return None
    return {**call, "delivery_count": mine["delivery_count"]}


def _failed(*arguments: Any) -> dict[str, Any] | None:
    call = _still_mine(*arguments)
    return None if call is None else {**call, "error": "late"}


_HELD = ("messages", "message_deliveries", "dead_letter_queue")
_LATE = tuple(
    LateCall("complete_message", params, _HELD, "lease", is_dialect=True) for params in (_still_mine, _failed)
)

# Two of one agent's processes, or two agents, want the same message.
PEERS = (
    PeerCall(
        "a claim of the same message",
        "claim_message",
        lambda p: _of(p, "waiting"),
        ("claim_message", "cleanup_expired_messages"),
    ),
    PeerCall(
        "a claim of the same abandoned message",
        "claim_message",
        lambda p: _of(p, "abandoned"),
        ("claim_message, abandoned", "get_agent_health", "cleanup_expired_messages"),
        needs=("clock",),
    ),
    PeerCall(
        "a redrive of the same expired broadcast",
        "redrive",
        lambda p: {"id": p.old_letter},
        ("cleanup_expired_messages", "redrive of an expired broadcast"),
        needs=("redrive", "retry", "clock"),
    ),
    PeerCall(
        "a claim after the time-out",
        "claim_message",
        lambda p: _of(p, "held"),
        ("complete_message", "complete_message, failed"),
        needs=("clock",),
        later_ms=5 * MINUTE_MS,
    ),
    PeerCall(
        "a claim after the time-out that it got",
        "claim_message",
        lambda p: _of(p, "waiting"),
        ("claim_message",),
        needs=("clock", "delivery_count"),
        later_ms=5 * MINUTE_MS,
        late=_LATE,
    ),
    PeerCall(
        "a completion of the same message",
        "complete_message",
        lambda p: _of(p, "held"),
        ("complete_message", "complete_message, failed"),
    ),
    # Whatever is counted for the agent is counted twice.
    PeerCall(
        "a completion of another message",
        "complete_message",
        lambda p: _of(p, "asked"),
        ("complete_message",),
        is_whole=True,
    ),
    # Closed is closed: a vote that was cast in time is in the tally, or refused.
    PeerCall(
        "a tally behind the deadline, which passes meanwhile",
        "tally",
        lambda p: {"vote_id": p.ids["vote"]},
        ("vote.cast",),
        needs=("votes", "clock"),
        passes_ms=_CENTURY_MS,
    ),
    PeerCall("a send", "send_message", lambda _: _send("peer"), ("send_message", "export_audit_trail"), needs=_SEND),
    PeerCall("the same send", "send_message", lambda _: _send("new"), ("send_message",), needs=_SEND),
    PeerCall(
        "an export, a send, and an export later",
        "export_audit_trail",
        lambda _: {},
        ("export_audit_trail",),
        needs=("audit", *_SEND),
        then=("send_message", lambda _: _send("peer")),
        later=(("export_audit_trail", lambda _: {}),),
    ),
    PeerCall(
        "a send and an export",
        "send_message",
        lambda _: _send("peer"),
        ("export_audit_trail",),
        needs=("audit", *_SEND),
        then=("export_audit_trail", lambda _: {}),
    ),
    PeerCall("an export", "export_audit_trail", lambda _: {}, ("export_audit_trail", "send_message"), needs=("audit",)),
)

OTHERS = {"export_audit_trail": append_as_a_hook}

WAITS = (
    (
        Operation(
            "receive_messages that waits",
            "route",
            "receive_messages",
            lambda _: {"agent_id": "bob", "channels": ["awaited"], "timeout_seconds": WAITS_S},
            ("wait",),
        ),
        PeerCall(
            "what it waits for",
            "send_message",
            lambda _: {
                "from_agent": "alice",
                "to_agent": "bob",
                "channel": "awaited",
                "message_type": "note",
                "payload": {},
            },
            ("receive_messages that waits",),
            ends_a_wait=True,
        ),
    ),
)
