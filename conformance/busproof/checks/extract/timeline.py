"""The facts of `timeline`. Each timeline is a lane; a fork's begins with the number after its fork point.

A message is known by its key, and a delegation by its nonce, too: a repeated send names the same message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from busproof.checks.calls import Call
from busproof.checks.extract.source import Fact, Source, as_row, number, text
from busproof.checks.facts import Appended, Stored

BETWEEN = "\x1f"
# All dimensions of all keys; those that a key lacks are empty in its message's name.
DIMENSIONS = (
    *("submission", "harness", "runtime", "agent", "service", "backend", "operation", "sequence", "caller", "target"),
    *("nonce", "agent_name"),
)
REPLY_TYPES = {"invoke": "complete", "request": "response", "delegate": "delegate-reply"}
CALLS = {"run_agent": "invoke", "call_service": "request", "delegate": "delegate"}


def of_call(call: Call) -> Iterator[Fact]:
    """The facts of one call."""
    key = _key(call)
    lane = text(key.get("timeline"))
    if lane is None:
        return
    name = name_of(key, call.params.get("nonce"))
    # Nobody is told whether a call was sent, or where: it may have been answered from the record.
    id_, seq = (None, None) if call.op in CALLS else (name, number(call.reply.get("number")))
    yield Appended(lane, call.begin, call.end, call.outcome, name, id_, seq, None, None, False, None)


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
    said = {**key, "nonce": key["nonce"] if key.get("nonce") is not None else nonce}
    return BETWEEN.join(text(said.get(name)) or "" for name in ("type", *DIMENSIONS))


def of_state(table: str, row: Any, place: int) -> Iterator[Fact]:
    """The facts of one row of the final state."""
    if table == "messages":
        row = as_row(row)
        key = as_row(row.get("key"))
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


SOURCE = Source(of_call, of_state, needed={Stored: ("seq",)}, numbers={})
