"""A `worker` history's operations, flattened: what its checks sort."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from busproof.checks.calls import NEVER, Call, Calls, Completeness
from busproof.history import Event

__all__ = ["NEVER", "Ack", "Facts", "Hold", "Poll", "Publish", "Stored", "extract"]


@dataclass(frozen=True, slots=True)
class Publish:
    """One attempt to publish one message. id and seq are None where nobody was told."""

    begin: int
    end: int
    outcome: str
    id: str | None
    seq: int | None


@dataclass(frozen=True, slots=True)
class Poll:
    """An answered poll: (seq, to_agent) of each message in its order."""

    begin: int
    end: int
    agent: str
    limit: int
    delivered: tuple[tuple[int, str | None], ...]


@dataclass(frozen=True, slots=True)
class Ack:
    """An ack; `answer` is the cursor that the bus told."""

    begin: int
    end: int
    outcome: str
    agent: str
    seq: int
    answer: int | None


@dataclass(frozen=True, slots=True)
class Hold:
    """A claim, renewal or release. `at_ms` is the bus's time, or the latest that it can have been."""

    begin: int
    end: int
    outcome: str
    op: str
    task: str
    agent: str
    granted: bool | None
    token: int | None
    lease_until_ms: int | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Stored:
    """A row of the final state."""

    seq: int
    id: str
    to_agent: str | None
    type: str


@dataclass
class Facts(Completeness):
    """All of a history that the checks look at."""

    publishes: list[Publish] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    acks: list[Ack] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    cursors: dict[str, int] = field(default_factory=dict)
    export: tuple[int, list[int], bool] | None = None  # event, seq of its lines, torn
    redriven_agents: set[str] = field(default_factory=set)


def extract(events: Iterable[Event]) -> Facts:
    """One pass over the events."""
    facts = Facts()
    calls = Calls(events)
    for call in calls:
        _close(facts, call)
    facts.is_whole = calls.is_whole
    return facts


def _close(facts: Facts, call: Call) -> None:
    begun, ended, end, outcome = call.begun, call.ended, call.end, call.outcome
    op, params, reply, agent = begun.op or "", call.params, call.reply, begun.agent or ""
    if op == "publish":
        message = params.get("message")
        given = message.get("id") if isinstance(message, dict) else None
        facts.publishes.append(Publish(begun.index, end, outcome, reply.get("id", given), reply.get("seq")))
    elif op == "publish_many":
        facts.publishes += _batch(begun.index, end, outcome, params, reply)
    elif op == "poll" and outcome == "ok":
        rows = tuple((row["seq"], row.get("to_agent")) for row in reply.get("messages", ()))
        facts.polls.append(Poll(begun.index, end, agent, params.get("limit", 100), rows))
    elif op == "ack" and begun.seq is not None:
        facts.acks.append(Ack(begun.index, end, outcome, agent, begun.seq, reply.get("last_acked_seq")))
    elif op in ("try_claim_task", "renew_claim", "release_claim"):
        facts.holds.append(
            Hold(
                begun.index,
                end,
                outcome,
                op,
                str(begun.key),
                agent,
                ended.granted if ended else None,
                reply.get("token"),
                reply.get("lease_until_ms"),
                call.at_ms,
            )
        )
    elif op == "redrive":
        facts.redriven_agents.add(agent)
    elif op == "read_export" and outcome == "ok":
        facts.export = (end, list(reply.get("lines", [])), bool(reply.get("torn")))
    elif op == "dump" and outcome == "ok":
        _read_dump(facts, end, reply)


def _batch(begin: int, end: int, outcome: str, params: dict[str, Any], reply: dict[str, Any]) -> list[Publish]:
    messages = params.get("messages") or []
    ids = reply.get("ids") or [m.get("id") if isinstance(m, dict) else None for m in messages]
    seqs = reply.get("seqs") or [None] * len(ids)
    return [Publish(begin, end, outcome, id_, seq) for id_, seq in zip(ids, seqs, strict=False)]


def _read_dump(facts: Facts, at: int, dump: dict[str, Any]) -> None:
    """The last dump of a history is its final state."""
    facts.dump_at = at
    rows = [*dump.get("messages", ()), *dump.get("archived", ())]
    facts.stored = [Stored(r["seq"], r["id"], r.get("to_agent"), r.get("type", "")) for r in rows]
    facts.cursors = {row["agent_id"]: row["last_acked_seq"] for row in dump.get("cursors", ())}
