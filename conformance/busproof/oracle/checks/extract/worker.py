"""The facts of `worker`. The bus is one lane, and so is the set of its tasks; a reader's cursor is one for the bus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from busproof.contract.worker import CONTRACT, LEASE_MS
from busproof.oracle.checks.calls import Call
from busproof.oracle.checks.extract.digest import decoded, digest
from busproof.oracle.checks.extract.source import Fact, Source, as_list, as_row, due_ms, first, lease_of, number, text
from busproof.oracle.checks.facts import (
    Acked,
    Appended,
    Content,
    Delivered,
    Exported,
    Hold,
    Jump,
    Position,
    Reached,
    Read,
    Stored,
)

BUS = ""
HOLDS = {"try_claim_task": "claim", "renew_claim": "renew", "release_claim": "release"}
# The bus itself publishes these when a worker changes its state.
OWN_TYPES = ("state_change",)
POLL_LIMIT = 100


def of_call(call: Call, lease_ms: int | None = None) -> Iterator[Fact]:
    """The facts of one call, on a bus whose leases last so long."""
    op, params, reply = call.op, call.params, call.reply
    if op == "publish":
        message = as_row(params.get("message"))
        given = text(message.get("id"))
        to, id_ = text(message.get("to")), first(text(reply.get("id")), given)
        yield _appended(call, given, id_, number(reply.get("seq")), to)
        if (sent := _sent(call, id_, message)) is not None:
            yield sent
    elif op == "publish_many":
        yield from _batch(call)
    elif op == "poll" and call.outcome == "ok":
        yield from _read(call)
    elif op == "ack" and call.begun.seq is not None:
        answer = number(reply.get("last_acked_seq"))
        yield Acked(BUS, call.agent, call.begin, call.end, call.outcome, call.begun.seq, answer)
    elif op in HOLDS and call.begun.key is not None:
        yield _hold(call, call.begun.key, lease_ms)
    elif op == "export_to_jsonl" and (seq := number(reply.get("last_seq"))) is not None:
        yield Reached(call.begin, call.end, seq)
    elif op in ("redrive", "process_loop") and call.outcome != "fail":
        yield Jump(BUS, call.agent, call.begin, call.end, None, is_back=op == "redrive")


def _appended(call: Call, given: str | None, id_: str | None, seq: int | None, to: str | None) -> Appended:
    return Appended(BUS, call.begin, call.end, call.outcome, None, id_, seq, call.agent, to, given is None, None)


def _batch(call: Call) -> Iterator[Fact]:
    asked = [as_row(message) for message in as_list(call.params.get("messages"))]
    ids, seqs = as_list(call.reply.get("ids")), as_list(call.reply.get("seqs"))
    below: int | None = None
    for place, message in enumerate(asked):
        name = text(message.get("id"))
        id_ = first(text(ids[place]) if place < len(ids) else None, name)
        seq = number(seqs[place]) if place < len(seqs) else None
        appended = _appended(call, name, id_, seq, text(message.get("to")))
        appended.below, below = below, max((n for n in (below, seq) if n is not None), default=None)
        yield appended
        if (sent := _sent(call, id_, message)) is not None:
            yield sent


def _sent(call: Call, id_: str | None, message: dict[str, Any]) -> Content | None:
    if id_ is None or call.outcome == "fail":
        return None
    get = message.get
    of = (call.agent, get("to"), get("type"), get("correlation_id"), get("in_reply_to"), get("payload"))
    return Content(BUS, id_, call.end, True, digest(*of))


def _shown(row: dict[str, Any], id_: str | None, end: int, payload: Any) -> Content | None:
    """Only if it tells the content: an adapter's state may not."""
    if id_ is None or "payload" not in row:
        return None
    get = row.get
    of = (get("from_agent"), get("to_agent"), get("type"), get("correlation_id"), get("in_reply_to"), payload)
    hash_ = digest(*of)
    return None if hash_ is None else Content(BUS, id_, end, False, hash_)


def _read(call: Call) -> Iterator[Fact]:
    rows = call.reply.get("messages")
    if call.is_malformed:
        return
    limit = number(call.params.get("limit"))
    count: Any = len(rows) if isinstance(rows, list) else None
    asked = POLL_LIMIT if limit is None else limit
    is_all = count is not None and count < asked
    yield Read(BUS, call.agent, call.begin, call.end, count, asked, None, False, None, True, is_all=is_all)
    for place, row in enumerate(map(as_row, as_list(rows))):
        id_, seq = text(row.get("id")), number(row.get("seq"))
        yield Delivered(call.end, place, id_, seq, None, text(row.get("to_agent")), True, None, None)
        if _is_read(row) and (shown := _shown(row, id_, call.end, row.get("payload"))) is not None:
            yield shown


def _is_read(row: dict[str, Any]) -> bool:
    """Nobody knows what a blob holds that could not be read; a payload in the row itself can be."""
    error = text(row.get("payload_error"))
    return error is None or (row.get("payload_ref") is None and not error.startswith("blob"))


def _hold(call: Call, task: str, lease_ms: int | None) -> Hold:
    reply, granted = call.reply, call.ended.granted if call.ended and not call.is_malformed else None
    return Hold(
        BUS,
        call.begin,
        call.end,
        call.outcome,
        HOLDS[call.op],
        task,
        call.agent,
        granted,
        number(reply.get("token")) if call.op == "try_claim_task" else call.begun.token,
        number(reply.get("lease_until_ms")),
        call.at_ms_min,
        call.at_ms,
        is_final=False,
        due_ms=due_ms(call, lease_ms),
    )


def of_state(table: str, row: Any, place: int) -> Iterator[Fact]:
    """The facts of one row of the final state, or of the last export."""
    if table in ("messages", "archived"):
        row = as_row(row)
        is_own = text(row.get("type")) in OWN_TYPES
        to, id_ = text(row.get("to_agent")), text(row.get("id"))
        yield Stored(BUS, None, id_, number(row.get("seq")), None, to, is_own, False)  # type: ignore[arg-type]
        is_inline = row.get("payload_ref") is None  # a blob is another file
        if is_inline and (shown := _shown(row, id_, place, decoded(row.get("payload")))) is not None:
            yield shown
    elif table == "cursors":
        row = as_row(row)
        yield Position(BUS, text(row.get("agent_id")), number(row.get("last_acked_seq")))  # type: ignore[arg-type]
    elif table == "lines":
        yield Exported(place, number(row))  # type: ignore[arg-type]


def of_run(header: dict[str, Any]) -> Source:
    """Its options say how long leases last."""
    return replace(SOURCE, of_call=partial(of_call, lease_ms=lease_of(header, "lease_ms", LEASE_MS)))


SOURCE = Source(
    of_call,
    of_state,
    of_run=of_run,
    needed={Stored: ("seq",), Delivered: ("seq",)},
    numbers={
        "publish": ("seq",),
        "ack": ("last_acked_seq",),
        "export_to_jsonl": ("last_seq",),
        "try_claim_task": ("token", "lease_until_ms"),
        "renew_claim": ("lease_until_ms",),
    },
    asks=frozenset({"ack"}),
    clears=frozenset({"archive"}),
    contract=CONTRACT,
)
