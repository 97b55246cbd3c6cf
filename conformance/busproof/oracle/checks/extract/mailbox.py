"""From a history of `mailbox` to facts.

Three kinds of lanes: messages (""), claims of names, and each queue of jobs. A receive is a read; it `is_moving` where
reading takes. An ack is a release of a message after which it is not shown again (`Hold.is_final`); it is `granted`
where it acks all before it, too. Where the client holds the position, a read tells the position that was asked for
(`ack_through`) and the one that was answered (`after`), as numbers. Where the history does not tell what the bus
declares, a read is not `with_own`: it may have taken what it shows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from busproof.contract.mailbox import CONTRACT
from busproof.oracle.checks.calls import Call
from busproof.oracle.checks.extract.digest import digest
from busproof.oracle.checks.extract.source import Fact, Source, as_list, as_row, number, text
from busproof.oracle.checks.facts import Appended, Content, Delivered, Hold, Read

MAIL, ACKS, CLAIMS = "", "acks", "claims"
LIMIT = 100  # of receive, where none is asked for


def queue(name: Any) -> str:
    """The lane of a queue."""
    return f"jobs {name}"


@dataclass(frozen=True)
class Bus:
    """What a bus says of itself, as far as it matters here."""

    features: frozenset[str] = frozenset()
    ttl_ms: int | None = None
    page_max: int = sys.maxsize
    is_told: bool = False
    takes_limit: bool = True


def of_call(call: Call, bus: Bus = Bus()) -> Iterator[Fact]:
    """The facts of one call."""
    match call.op:
        case "send":
            yield from _sent(call, bus)
        case "receive" if call.outcome == "ok":
            yield from _received(call, bus)
        case "receive":  # it may have taken messages that nobody was shown
            yield _hold(call, ACKS, "claim", "", None)
        case "ack":
            for id_ in as_list(call.params.get("ids")):
                is_of_all = True if "cumulative_ack" in bus.features else None
                yield _hold(call, ACKS, "release", text(id_) or "", is_of_all, is_final=call.outcome == "ok")
        case "claim" | "renew":
            until_ms = _at_least(call, call.params.get("ttl_ms"))
            granted = call.reply.get("granted") is True if call.outcome == "ok" else None
            token = number(call.reply.get("token"))
            yield _hold(call, CLAIMS, call.op, text(call.params.get("name")) or "", granted, token, until_ms)
        case "release":
            yield _hold(call, CLAIMS, "release", text(call.params.get("name")) or "", None)
        case "put":
            yield _appended(call, queue(call.params.get("queue")), None)
        case "take":
            yield from _taken(call)
        case "done" | "back":
            is_final = call.op == "done" and call.outcome == "ok"
            key = text(call.params.get("id")) or ""
            yield _hold(call, queue(call.params.get("queue")), "release", key, None, is_final=is_final)


def _sent(call: Call, bus: Bus) -> Iterator[Fact]:
    sent = _appended(call, MAIL, text(call.params.get("to")))
    sent.expires_ms = None if bus.ttl_ms is None else call.at_ms_min + bus.ttl_ms
    yield sent
    if sent.id is not None and call.outcome == "ok":
        yield Content(MAIL, sent.id, call.end, True, digest(call.params.get("body")))


def _appended(call: Call, lane: str, addressee: str | None) -> Appended:
    id_ = text(call.reply.get("id"))
    key = text(call.params.get("key"))
    name = None if key is None else f"{call.agent} {key}"
    seq = number(call.reply.get("n"))
    return Appended(lane, call.begin, call.end, call.outcome, name, id_, seq, call.agent, addressee, key is None, None)


def _received(call: Call, bus: Bus) -> Iterator[Fact]:
    rows = [as_row(row) for row in as_list(call.reply.get("messages"))]
    asked_for = number(call.params.get("limit")) or LIMIT if bus.takes_limit else bus.page_max
    limit, takes = min(asked_for, bus.page_max), "consumes" in bus.features
    asked, reached = _position(call.params.get("after")), _position(call.reply.get("position"))
    yield Read(MAIL, call.agent, call.begin, call.end, len(rows), limit, reached, takes, asked, bus.is_told)
    for place, row in enumerate(rows):
        id_, to = text(row.get("id")), text(row.get("to_agent"))
        sender, seq = text(row.get("from_agent")), number(row.get("n"))
        yield Delivered(call.end, place, id_, seq, sender, to, True, None, None)
        if id_ is not None:
            yield Content(MAIL, id_, call.end, False, digest(row.get("body")))


def _position(value: Any) -> int | None:
    """A position as a number; None for none."""
    return None if value is None else digest(value)


def _taken(call: Call) -> Iterator[Fact]:
    lane, job = queue(call.params.get("queue")), as_row(call.reply.get("job"))
    if call.outcome == "ok" and not job:
        yield Read(lane, call.agent, call.begin, call.end, 0, 1, None, False, None, True)
        return
    until_ms = _at_least(call, call.params.get("visible_ms"))
    granted = True if call.outcome == "ok" else None
    yield _hold(call, lane, "claim", text(job.get("id")) or "", granted, None, until_ms)


def _at_least(call: Call, ms: Any) -> int | None:
    """Until when a grant of so long holds at the least."""
    return call.at_ms_min + ms if type(ms) is int else None


def _hold(
    call: Call,
    lane: str,
    op: str,
    key: str,
    granted: bool | None,
    token: int | None = None,
    until_ms: int | None = None,
    *,
    is_final: bool = False,
) -> Hold:
    times = call.at_ms_min, call.at_ms
    holder, outcome = call.agent, call.outcome
    return Hold(lane, call.begin, call.end, outcome, op, key, holder, granted, token, until_ms, *times, is_final)


def of_state(table: str, row: Any, place: int) -> Iterator[Fact]:
    """There is no dump: a bus is judged by what its readers are shown."""
    yield from ()


def of_run(header: dict[str, Any]) -> Source:
    """Its header says what the bus declares."""
    declared = as_row(header.get("bus")) or as_row(next(iter(as_list(header.get("hello"))), None))
    limits, features = as_row(declared.get("limits")), as_list(declared.get("features"))
    page_max = number(limits.get("page_max")) or sys.maxsize
    takes_limit = "limit" not in as_list(declared.get("lacks"))
    bus = Bus(frozenset(map(str, features)), number(limits.get("ttl_ms")), page_max, bool(declared), takes_limit)
    return replace(SOURCE, of_call=partial(of_call, bus=bus))


SOURCE = Source(
    of_call,
    of_state,
    of_run=of_run,
    needed={Delivered: ("id",)},
    numbers={"send": ("n",), "claim": ("token",)},
    contract=CONTRACT,
)
