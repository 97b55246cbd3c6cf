"""A `topics` history's operations, flattened: what its checks sort."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from busproof.checks.calls import Call, Calls, Completeness
from busproof.history import Event


@dataclass(frozen=True, slots=True)
class Sent:
    """One attempt to send one outbox item; message_id and seq are None where nobody was told."""

    begin: int
    end: int
    outcome: str
    topic: str
    sender: str
    key: str | None  # client_message_id
    message_id: str | None
    seq: int | None


@dataclass(frozen=True, slots=True)
class Synced:
    """One answered sync of a reader. `got` is (seq, sender) of what it received, in order."""

    begin: int
    end: int
    topic: str
    reader: str
    got: tuple[tuple[int, str], ...]
    after: int  # the cursor that it was answered
    auto_advance: bool
    ack_through: int | None
    max_items: int
    include_self: bool


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message of the final state."""

    topic: str
    seq: int
    message_id: str
    sender: str
    key: str | None


@dataclass
class TopicsFacts(Completeness):
    """Everything the checks look at."""

    sent: list[Sent] = field(default_factory=list)
    synced: list[Synced] = field(default_factory=list)
    # (reader, topic) whose cursor cannot be followed: the fate of a sync is unknown, or it was set by cursor_reset
    unfollowed: set[tuple[str, str]] = field(default_factory=set)
    stored: list[StoredMessage] = field(default_factory=list)


def extract(events: Iterable[Event]) -> TopicsFacts:
    """One pass."""
    facts, calls = TopicsFacts(), Calls(events)
    for call in calls:
        if call.begun.op == "sync":
            facts.sent += _items(call)
            if call.outcome == "ok":
                facts.synced.append(_synced(call))
            elif call.outcome == "info":
                facts.unfollowed.add(_reader(call))
        elif call.begun.op == "cursor_reset" and call.outcome != "fail":
            facts.unfollowed.add(_reader(call))
        elif call.begun.op == "dump" and call.outcome == "ok":
            facts.dump_at = call.end
            facts.stored = [
                StoredMessage(m["topic_id"], m["seq"], m["message_id"], m["sender"], m["client_message_id"])
                for m in call.reply["messages"]
            ]
    facts.synced.sort(key=lambda sync: sync.end)
    facts.is_whole = calls.is_whole
    return facts


def _reader(call: Call) -> tuple[str, str]:
    return str(call.begun.agent), str(call.params.get("topic_id"))


def _items(call: Call) -> Iterable[Sent]:
    told: list[dict[str, Any]] = [record["message"] for record in call.reply.get("sent", [])]
    for place, item in enumerate(call.params.get("outbox") or []):
        message = told[place] if place < len(told) else {}
        yield Sent(
            call.begun.index,
            call.end,
            call.outcome,
            call.params["topic_id"],
            str(call.begun.agent),
            item.get("client_message_id"),
            message.get("message_id"),
            message.get("seq"),
        )


def _synced(call: Call) -> Synced:
    params, reply = call.params, call.reply
    return Synced(
        call.begun.index,
        call.end,
        params["topic_id"],
        str(call.begun.agent),
        tuple((message["seq"], message["sender"]) for message in reply["received"]),
        reply["cursor"]["last_seq"],
        params.get("auto_advance", True) is not False,
        params.get("ack_through"),
        params.get("max_items") or 20,
        bool(params.get("include_self")),
    )
