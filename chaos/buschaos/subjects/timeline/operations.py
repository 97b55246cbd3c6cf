"""The operations of `timeline`, and a record with something of every noun."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from buschaos.operations import BIG, LATER_MS, WAITS_S, Operation, tell_time
from buschaos.subjects.base import LateCall, PeerCall
from busproof.bus.session import Session
from busproof.contract import HelloReply
from busproof.contract.common import T0_MS

# Tokens of subjects, and the order of the fields in them; the names of a run need no percent sign.
_WIRE = {
    "invoke": ("invoke", ("harness", "runtime", "agent")),
    "request": ("req", ("agent", "service", "backend", "operation", "sequence")),
    "response": ("res", ("service", "backend", "agent", "operation", "sequence")),
    "delegate": ("delegate", ("caller", "target")),
}


@dataclass(frozen=True)
class Prepared:
    """Deliveries in bob's hands, by the service whose request it was."""

    deliveries: dict[str, str]


def request(service: str, operation: str = "o", **more: Any) -> dict[str, Any]:
    """The key of a call of a service."""
    key = {"type": "request", "timeline": "main", "submission": "s", "agent": "alice", "service": service}
    return {**key, "backend": "b", "operation": operation, "sequence": 1, **more}


def _said(key: dict[str, Any]) -> dict[str, Any]:
    """The key as the parameters of a call."""
    return {name: value for name, value in key.items() if name != "type"}


def subject(key: dict[str, Any]) -> str:
    """The form of the key on the wire."""
    token, rest = _WIRE[key["type"]]
    return ".".join(("vlinder", key["timeline"], key["submission"], token, *(str(key[name]) for name in rest)))


def wanted(service: str) -> dict[str, Any]:
    """The filter of a service's workers."""
    return {"type": "request", "service": service, "backend": "b"}


def prepare(alice: Session, bob: Session, hello: HelloReply) -> Prepared:
    """Requests that wait, that bob has, that he had and gave back, that he let go by; an answer; a fork."""
    for session in (alice, bob):
        tell_time(session, hello, T0_MS)
    for service in ("waiting", "held", "given", "done", "abandoned"):
        alice.call("send", key=request(service), payload={"of": service})
    bob.call("fetch", filter=wanted("abandoned"))
    alice.call(
        "send",
        key={"type": "delegate", "timeline": "main", "submission": "s", "caller": "alice", "target": "bob"},
        nonce="n1",
        payload="task",
    )
    alice.call("fork", timeline="side", submission="s", agent_name="alice", parent="main", at=3)
    for session in (alice, bob):
        tell_time(session, hello, T0_MS + LATER_MS)
    taken = {name: bob.call("fetch", filter=wanted(name))["message"]["delivery"] for name in ("held", "given", "done")}
    bob.call("reply", key=request("done"), payload={"a": 1})
    return Prepared(taken)


def ids(method: str, params: dict[str, Any]) -> set[str]:
    """The subject of the message that a call stores."""
    return {subject(params["key"])} if method == "send" else set()


OPERATIONS = (
    Operation("open", "log", "open", lambda _: {}, empty_store=True),
    Operation("open again", "log", "open", lambda _: {}),
    Operation("send", "log", "send", lambda _: {"key": request("new"), "payload": {"n": 1}}),
    Operation("send, large", "log", "send", lambda _: {"key": request("large"), "payload": {"x": BIG}}),
    Operation(
        "send on a new timeline", "log", "send", lambda _: {"key": request("new", timeline="other"), "payload": None}
    ),
    Operation("reply", "log", "reply", lambda _: {"key": request("held"), "payload": {"a": BIG}}),
    Operation("reply again", "log", "reply", lambda _: {"key": request("done"), "payload": {"a": 1}}),
    Operation("fetch", "cursor", "fetch", lambda _: {"filter": wanted("waiting")}),
    Operation("fetch, abandoned", "cursor", "fetch", lambda _: {"filter": wanted("abandoned")}, ("clock",)),
    # Nothing is there for it. Most buses write nothing then; one that does must not write over what comes meanwhile.
    Operation("fetch, in vain", "cursor", "fetch", lambda _: {"filter": wanted("late")}),
    Operation("ack", "cursor", "ack", lambda prepared: {"delivery": prepared.deliveries["done"]}),
    Operation("nak", "cursor", "nak", lambda prepared: {"delivery": prepared.deliveries["given"]}, ("nak",)),
    Operation(
        "fork",
        "fork",
        "fork",
        lambda _: {"timeline": "branch", "submission": "s", "agent_name": "alice", "parent": "main", "at": 4},
        ("fork",),
    ),
    Operation(
        "fork of a fork",
        "fork",
        "fork",
        lambda _: {"timeline": "twig", "submission": "s", "agent_name": "alice", "parent": "side", "at": 2},
        ("fork",),
    ),
    Operation("close", "log", "close", lambda _: {}),
)

READS = frozenset(
    {
        "dump",
        "filter_subject",
        "key_of",
        "log",
        "matches",
        "replay",
        "reply_key",
        "state",
        "subject_of",
        "timelines",
        "verify",
    }
)
_HOUR_MS = 3_600_000
_CALL = "a send, and waiting for the answer"
LIKE = {"run_agent": _CALL, "call_service": _CALL, "delegate": _CALL}


def _still_mine(
    _: Prepared, _call: dict[str, Any], mine: dict[str, Any], theirs: dict[str, Any]
) -> dict[str, Any] | None:
    """The delivery that the victim had, once the peer has another of the same message. A late ack counts; a nak not."""
    if not mine.get("message") or not theirs.get("message"):
        return None
    return {"delivery": mine["message"]["delivery"]}


# Two writers of one timeline want its end; two workers want the same request; two branches want the same name.
PEERS = (
    PeerCall("a send", "send", lambda _: {"key": request("peer"), "payload": 1}, ("send", "reply", "fork")),
    PeerCall("the same send", "send", lambda _: {"key": request("new"), "payload": {"n": 1}}, ("send",)),
    PeerCall("a fetch of the same request", "fetch", lambda _: {"filter": wanted("waiting")}, ("fetch",)),
    PeerCall(
        "a fetch of the same abandoned request",
        "fetch",
        lambda _: {"filter": wanted("abandoned")},
        ("fetch, abandoned",),
        needs=("clock",),
    ),
    PeerCall("a send of what it wants", "send", lambda _: {"key": request("late"), "payload": 1}, ("fetch, in vain",)),
    PeerCall(
        "a send of what it wants, a fetch of it, and another in vain",
        "send",
        lambda _: {"key": request("late"), "payload": 1},
        ("fetch, in vain",),
        then=("fetch", lambda _: {"filter": wanted("late")}),
        later=(("fetch", lambda _: {"filter": wanted("late")}),),
        is_whole=True,
    ),
    PeerCall(
        "a fetch after the time-out",
        "fetch",
        lambda _: {"filter": wanted("given")},
        ("nak",),
        needs=("clock", "nak"),
        later_ms=_HOUR_MS,
    ),
    PeerCall(
        "a fetch after the time-out that it got",
        "fetch",
        lambda _: {"filter": wanted("waiting")},
        ("fetch",),
        needs=("clock", "nak"),
        later_ms=_HOUR_MS,
        late=(LateCall("nak", _still_mine, ("deliveries",), "cursor", is_dialect=True),),
    ),
    PeerCall("the same answer", "reply", lambda _: {"key": request("held"), "payload": {"a": BIG}}, ("reply",)),
    PeerCall("another answer", "reply", lambda _: {"key": request("held"), "payload": {"a": 2}}, ("reply",)),
    PeerCall(
        "the same fork",
        "fork",
        lambda _: {"timeline": "branch", "submission": "s", "agent_name": "alice", "parent": "main", "at": 4},
        ("fork",),
        needs=("fork",),
    ),
)

WAITS = (
    (
        Operation(
            "fetch that waits", "cursor", "fetch", lambda _: {"filter": wanted("awaited"), "wait_ms": 1000 * WAITS_S}
        ),
        PeerCall(
            "what it waits for",
            "send",
            lambda _: {"key": request("awaited"), "payload": 1},
            ("fetch that waits",),
            ends_a_wait=True,
        ),
    ),
    (
        Operation(
            "call_service that waits",
            "retry",
            "call_service",
            lambda _: {**_said(request("asked")), "payload": 1, "timeout_ms": 1000 * WAITS_S},
            ("calls",),
        ),
        # Where its question comes first, that is the one that is answered.
        PeerCall(
            "another question under its key, and an answer",
            "send",
            lambda _: {"key": request("asked"), "payload": 2},
            ("call_service that waits",),
            then=("reply", lambda _: {"key": request("asked"), "payload": "it is"}),
            ends_a_wait=True,
            goes_on=True,
        ),
    ),
)
