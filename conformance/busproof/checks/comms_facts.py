"""A `comms` history's operations, flattened: what its checks sort."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from busproof.checks.calls import Call, Calls, Completeness
from busproof.history import Event

SENDS = ("send_message", "send_with_retry", "send_response")
TTL_S, TTL_URGENT_S = 3600, 300


@dataclass(frozen=True, slots=True)
class Send:
    """One attempt to send one message; id is None where nobody was told. expires_ms None: it does not, or unknown."""

    begin: int
    end: int
    outcome: str
    id: str | None
    to_agent: str | None
    expires_ms: int | None
    is_chosen: bool  # the sender chose the id: two such sends are one message


@dataclass(frozen=True, slots=True)
class Received:
    """One row of an answered receive; `place` is its place in the answer."""

    end: int
    agent: str
    place: int
    id: str
    to_agent: str | None
    channel_asked: bool
    priority: int
    timestamp: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answered receive: how many rows, and how many were asked for."""

    end: int
    rows: int
    limit: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A granted claim."""

    begin: int
    end: int
    process: int
    agent: str
    message: str
    count: int | None
    until_ms: int | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion that was not certainly refused. `status` is what the bus told."""

    begin: int
    end: int
    outcome: str
    process: int
    agent: str
    message: str
    is_error: bool
    status: str | None


@dataclass
class CommsFacts(Completeness):
    """All of a history that the checks look at."""

    sends: list[Send] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    redriven: set[str] = field(default_factory=set)  # message ids
    messages: list[str] = field(default_factory=list)  # ids in the final state
    letters: list[str] = field(default_factory=list)  # ids of original messages, one a dead letter
    newest_ms: int = 0  # the latest time of the bus in the history


def extract(events: Iterable[Event]) -> CommsFacts:
    """One pass over the events."""
    facts = CommsFacts()
    calls = Calls(events)
    for call in calls:
        _close(facts, call)
    facts.is_whole = calls.is_whole
    return facts


def _close(facts: CommsFacts, call: Call) -> None:
    begun, reply, op = call.begun, call.reply, call.begun.op or ""
    if op != "clock.set":  # the first one is not on the clock that it sets
        facts.newest_ms = max(facts.newest_ms, call.at_ms)
    if op in SENDS:
        facts.sends.append(_send(call))
    elif op == "receive_messages" and call.outcome == "ok":
        rows = reply.get("messages", [])
        facts.answers.append(Answer(call.end, len(rows), call.params.get("limit", 10)))
        channels = call.params.get("channels") or []
        facts.received += [
            Received(
                call.end,
                begun.agent or "",
                place,
                row["id"],
                row.get("to_agent"),
                row["channel"] in channels,
                row["priority"],
                row["timestamp"],
            )
            for place, row in enumerate(rows)
        ]
    elif op == "claim_message" and call.outcome == "ok" and call.ended is not None and reply.get("claimed"):
        facts.claims.append(
            Claim(
                begun.index,
                call.end,
                begun.process,
                begun.agent or "",
                str(begun.key),
                reply.get("delivery_count"),
                call.ended.lease_until_ms,
                call.at_ms,
            )
        )
    elif op == "complete_message" and call.outcome != "fail":
        facts.completions.append(
            Completion(
                begun.index,
                call.end,
                call.outcome,
                begun.process,
                begun.agent or "",
                str(begun.key),
                "error" in call.params,
                reply.get("status"),
            )
        )
    elif op == "redrive":
        facts.redriven.add(str(call.params.get("id", "")).partition(":")[0])
    elif op == "dump" and call.outcome == "ok":
        facts.dump_at = call.end
        facts.messages = [row["id"] for row in reply.get("messages", ())]
        facts.letters = [row["id"].partition(":")[0] for row in reply.get("dead_letter_queue", ())]


def _send(call: Call) -> Send:
    params = call.params
    to_agent = params.get("to_agent")
    if call.begun.op == "send_response" and isinstance(params.get("original_message"), dict):
        to_agent = params["original_message"].get("from_agent")
    return Send(
        call.begun.index,
        call.end,
        call.outcome,
        call.reply.get("message_id", params.get("message_id")),
        to_agent,
        _expires_ms(params, call.at_ms),
        "message_id" in params,
    )


def _expires_ms(params: dict[str, Any], at_ms: int) -> int | None:
    if "ttl_seconds" in params:
        ttl_s = params["ttl_seconds"]
        return at_ms + ttl_s * 1000 if isinstance(ttl_s, int) else None
    # An answer goes to its request's channel: the shorter time is the careful guess.
    is_normal = params.get("channel", "general") != "urgent" and "original_message" not in params
    return at_ms + (TTL_S if is_normal else TTL_URGENT_S) * 1000
