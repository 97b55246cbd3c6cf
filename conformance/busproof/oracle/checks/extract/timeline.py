"""The facts of `timeline`. Each timeline is a lane; a fork's begins with the number after its fork point.

A message is known by its key, and a delegation by its nonce, too: a repeated send names the same message. A fetch is a
claim by its delivery, an ack or a nak that delivery's release; each filter and group is a lane of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from busproof.contract.timeline import ACK_WAIT_MS, CONTRACT
from busproof.oracle.checks.calls import Call
from busproof.oracle.checks.extract.chain import links
from busproof.oracle.checks.extract.digest import digest
from busproof.oracle.checks.extract.source import Fact, Source, as_row, lease_of, number, text
from busproof.oracle.checks.facts import Appended, Content, Delivered, Hold, Read, Stored

BETWEEN = "\x1f"
# All dimensions of all keys; those that a key lacks are empty in its message's name.
DIMENSIONS = (
    *("submission", "harness", "runtime", "agent", "service", "backend", "operation", "sequence", "caller", "target"),
    *("nonce", "agent_name"),
)
REPLY_TYPES = {"invoke": "complete", "request": "response", "delegate": "delegate-reply"}
CALLS = {"run_agent": "invoke", "call_service": "request", "delegate": "delegate"}


def of_call(call: Call, ack_wait_ms: int | None = None) -> Iterator[Fact]:
    """The facts of one call."""
    if call.op == "fetch" and call.reply.get("message") is not None:
        yield from _fetched(call, as_row(call.reply["message"]), ack_wait_ms)
    elif call.op in ("ack", "nak") and call.outcome != "fail":
        yield _given_back(call)
    key = _key(call)
    lane = text(key.get("timeline"))
    if lane is None:
        return
    name = name_of(key, call.params.get("nonce"))
    # Nobody is told whether a call was sent, or where: it may have been answered from the record.
    id_, seq = (None, None) if call.op in CALLS else (name, number(call.reply.get("number")))
    yield Appended(lane, call.begin, call.end, call.outcome, name, id_, seq, None, None, False, None)
    if call.outcome != "fail":
        # A call's message, and a fork's, are written by the bus.
        written = digest(call.params.get("payload")) if call.op in ("send", "reply") else None
        yield Content(lane, name, call.end, True, written)
        if call.outcome == "ok" and written is not None:  # other content would have been refused
            yield Content(lane, name, call.end, False, written)


def _shown(row: Mapping[str, Any], end: int) -> Iterator[Content]:
    key, hash_ = as_row(row.get("key")), digest(row.get("payload"))
    lane = text(key.get("timeline"))
    if lane is not None and hash_ is not None and "payload" in row:
        yield Content(lane, name_of(key, row.get("nonce")), end, False, hash_)


def _fetched(call: Call, row: Mapping[str, Any], ack_wait_ms: int | None) -> Iterator[Fact]:
    yield from _shown(row, call.end)
    begin_ms, end_ms = _span_ms(call)
    asked = {name: value for name, value in as_row(call.params.get("filter")).items() if value is not None}
    consumer = json.dumps([call.params.get("group"), asked], sort_keys=True)
    key = as_row(row.get("key"))
    timeline = text(key.get("timeline"))
    yield from links(row, call.end)
    yield Read(consumer, call.agent, call.begin, call.end, 1, 1, None, False, None, True)
    is_asked = all(key.get(name) == value for name, value in asked.items())
    yield Delivered(call.end, 0, None, None, None, None, is_asked, None, None)
    yield Hold(
        lane=consumer,
        begin=call.begin,
        end=call.end,
        outcome=call.outcome,
        op="claim",
        key=f"{timeline}{BETWEEN}{number(row.get('number'))}",
        holder=text(row.get("delivery")),  # type: ignore[arg-type]
        granted=True,
        token=number(row.get("delivery_count")),
        until_ms=None if ack_wait_ms is None else begin_ms + ack_wait_ms,
        at_ms_min=begin_ms,
        at_ms=end_ms,
        is_final=False,
    )


def _given_back(call: Call) -> Hold:
    """Of a message that only the fetch of this delivery names."""
    delivery, is_ok = text(call.params.get("delivery")), call.outcome == "ok"
    begin_ms, end_ms = _span_ms(call)
    return Hold(
        lane="",
        begin=call.begin,
        end=call.end,
        outcome=call.outcome,
        op="release",
        key="",
        holder=delivery,  # type: ignore[arg-type]
        granted=is_ok or None,
        token=None,
        until_ms=None,
        at_ms_min=begin_ms,
        at_ms=end_ms,
        is_final=is_ok and call.op == "ack",
    )


def _span_ms(call: Call) -> tuple[int, int]:
    """A server goes by a clock of its own, not by the session's: a time is over by either, or both together."""
    set_ms = call.begun.bus_ms or 0
    return set_ms + call.begun.wall_ms, set_ms + (call.ended or call.begun).wall_ms


def _key(call: Call) -> Mapping[str, Any]:
    """The key of the message that it would append; empty if it appends none."""
    if call.op in CALLS:
        return {**call.params, "type": CALLS[call.op]}
    if call.op == "fork":
        return {**call.params, "type": "fork"}
    key = as_row(call.params.get("key"))
    if call.op == "reply":
        type_ = REPLY_TYPES.get(text(key.get("type")) or "", "")
        return {**key, "type": type_, "runtime": None if type_ == "complete" else key.get("runtime")}
    return key if call.op == "send" else {}


def name_of(key: Mapping[str, Any], nonce: Any) -> str:
    """The name of a message: its type, every dimension after the timeline, and its nonce."""
    dimensions = {**key, "nonce": key["nonce"] if key.get("nonce") is not None else nonce}
    return BETWEEN.join(text(dimensions.get(name)) or "" for name in ("type", *DIMENSIONS))


def of_state(table: str, row: Any, place: int) -> Iterator[Fact]:
    """The facts of one row of the final state."""
    if table == "messages":
        row = as_row(row)
        key = as_row(row.get("key"))
        yield from _shown(row, place)
        yield from links(row, place)
        name = name_of(key, row.get("nonce"))
        yield Stored(
            text(key.get("timeline")),  # type: ignore[arg-type]
            name,
            name,
            number(row.get("number")),
            None,
            None,
            False,
            False,
        )


def of_run(header: dict[str, Any]) -> Source:
    """Its options say how long a message is in somebody's hands; if nobody tells them, it may be for no time."""
    ack_wait_ms = lease_of(header, "ack_wait_ms", ACK_WAIT_MS)
    return replace(SOURCE, of_call=partial(of_call, ack_wait_ms=ack_wait_ms))


SOURCE = Source(
    of_call,
    of_state,
    needed={Stored: ("seq",)},
    numbers={},
    of_run=of_run,
    forgets=frozenset({"kill_server", "start_server"}),
    contract=CONTRACT,
)
