"""The facts of `comms`. Messages are one lane; claims are of one agent's delivery, so agents are lanes there.

A completion is a release; after one that was answered `done` nothing is left to claim.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from msgspec import structs

from busproof.contract.comms import CONTRACT, VISIBILITY_MS
from busproof.oracle.checks.calls import Call
from busproof.oracle.checks.extract.digest import decoded, digest
from busproof.oracle.checks.extract.source import (
    Fact,
    Source,
    as_list,
    as_row,
    due_ms,
    first,
    flag,
    lease_of,
    number,
    text,
)
from busproof.oracle.checks.facts import Appended, Content, Delivered, Failed, Hold, Read, Redriven, Stored

BUS = ""
SENDS = ("send_message", "send_with_retry", "send_response", "request")
RECEIVE_LIMIT = 10
TTL_S, TTL_URGENT_S = 3600, 300


def of_call(call: Call, lease_ms: int | None = None) -> Iterator[Fact]:
    """The facts of one call, on a bus whose claims last so long."""
    op = call.op
    if op in SENDS:
        yield (sent := _appended(call))
        if sent.id is not None and call.outcome != "fail":
            yield Content(BUS, sent.id, call.end, True, _written(call))
    elif op == "receive_messages" and call.outcome == "ok" and not call.is_malformed:
        yield from _read(call)
    elif op == "claim_message" and call.outcome != "fail" and call.begun.key is not None:
        until_ms = call.ended.lease_until_ms if call.ended and call.outcome == "ok" else None
        granted, count = flag(call.reply.get("claimed")), number(call.reply.get("delivery_count"))
        yield structs.replace(
            _hold(call, "claim", call.begun.key, granted, count, until_ms), due_ms=due_ms(call, lease_ms)
        )
    elif op == "complete_message" and call.outcome != "fail" and call.begun.key is not None:
        status, key = text(call.reply.get("status")), call.begun.key
        yield _hold(call, "release", key, call.outcome == "ok" or None, None, None, is_final=status == "done")
        if "error" in call.params and status != "done":
            yield Failed(call.agent, key, call.begin, call.outcome == "ok" and status is not None)
    elif op == "redrive":
        yield Redriven((text(call.params.get("id")) or "").partition(":")[0])


def _appended(call: Call) -> Appended:
    params = call.params
    to_agent, is_response = params.get("to_agent"), call.op == "send_response"
    if is_response:
        to_agent = as_row(params.get("original_message")).get("from_agent")
    given = text(params.get("message_id"))
    return Appended(
        BUS,
        call.begin,
        call.end,
        call.outcome,
        None,
        first(text(call.reply.get("message_id")), given),
        None,
        call.agent,
        text(to_agent),
        given is None,
        _expires_ms(params, call.at_ms),
        channel=_channel(call.op, params),
    )


def _channel(op: str, params: dict[str, Any]) -> str | None:
    """None where the bus chooses one."""
    return text(params.get("channel", "general")) if op == "send_message" else None


def _written(call: Call) -> int | None:
    """None for an operation that fills in columns of its own."""
    if call.op != "send_message":
        return None
    params = {"channel": "general", "priority": 5, "from_agent": call.agent} | call.params
    return _digest(params, params.get("message_type"), params.get("payload"))


def _shown(row: dict[str, Any], end: int) -> Iterator[Content]:
    """Only if it tells the content: an adapter's state may not."""
    id_, hash_ = text(row.get("id")), _digest(row, row.get("type"), decoded(row.get("payload")))
    if id_ is not None and hash_ is not None and "payload" in row:
        yield Content(BUS, id_, end, False, hash_)


def _digest(row: dict[str, Any], type_: Any, payload: Any) -> int | None:
    # Not its addressee: a redrive gives an expired broadcast to one agent.
    empty_is_null = (row.get(name) or None for name in ("from_agent", "correlation_id", "channel"))
    return digest(*empty_is_null, row.get("priority"), type_, payload)


def _expires_ms(params: dict[str, Any], at_ms: int) -> int | None:
    if "ttl_seconds" in params:
        ttl_s = number(params["ttl_seconds"])
        return None if ttl_s is None else at_ms + ttl_s * 1000
    # An answer goes to its request's channel: the shorter time is the careful guess.
    is_normal = params.get("channel", "general") != "urgent" and "original_message" not in params
    return at_ms + (TTL_S if is_normal else TTL_URGENT_S) * 1000


def _read(call: Call) -> Iterator[Fact]:
    rows, limit = call.reply.get("messages"), number(call.params.get("limit"))
    count: Any = len(rows) if isinstance(rows, list) else None
    asked = RECEIVE_LIMIT if limit is None else limit
    channels = as_list(call.params.get("channels"))
    yield Read(
        call.agent,
        call.agent,
        call.begin,
        call.end,
        count,
        asked,
        None,
        False,
        None,
        True,
        is_all=count is not None and count < asked,
        channels=json.dumps(channels),
    )
    for place, row in enumerate(map(as_row, as_list(rows))):
        to, priority, sent_at = text(row.get("to_agent")), number(row.get("priority")), text(row.get("timestamp"))
        is_asked: Any = None if row.get("channel") is None else text(row["channel"]) in channels
        yield Delivered(call.end, place, text(row.get("id")), None, None, to, is_asked, priority, sent_at)
        yield from _shown(row, call.end)


def _hold(
    call: Call,
    op: str,
    key: str,
    granted: bool | None,
    token: int | None,
    until_ms: int | None,
    *,
    is_final: bool = False,
) -> Hold:
    return Hold(
        call.agent,
        call.begin,
        call.end,
        call.outcome,
        op,
        key,
        call.agent,
        granted,
        token,
        until_ms,
        call.at_ms_min,
        call.at_ms,
        is_final,
    )


def of_state(table: str, row: Any, place: int) -> Iterator[Fact]:
    """The facts of one row of the final state."""
    if table in ("messages", "dead_letter_queue"):
        id_, is_dead = text(as_row(row).get("id")), table == "dead_letter_queue"
        if is_dead and id_ is not None:
            id_ = id_.partition(":")[0]
        yield Stored(BUS, None, id_, None, None, None, False, is_dead)  # type: ignore[arg-type]
        original = decoded(as_row(row).get("original_message")) if is_dead else row
        if id_ is not None and isinstance(original, str):  # no JSON any more
            yield Content(BUS, id_, place, False, digest(original))
        yield from _shown(as_row(original), place)


def of_run(header: dict[str, Any]) -> Source:
    """Claims last as long as the seed says, if nobody says otherwise: an adapter may know the option of `worker`."""
    return dataclasses.replace(SOURCE, of_call=partial(of_call, lease_ms=lease_of(header, "lease_ms", VISIBILITY_MS)))


SOURCE = Source(
    of_call,
    of_state,
    of_run=of_run,
    needed={Delivered: ("id", "priority", "sent_at")},
    numbers={"claim_message": ("delivery_count",)},
    contract=CONTRACT,
)
