"""The facts of `relay`. Each outbox is a lane, with the ledger's seq; so is each inbox, without a seq."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from busproof.contract.relay import CONTRACT
from busproof.oracle.checks.calls import Call
from busproof.oracle.checks.extract.digest import digest
from busproof.oracle.checks.extract.source import Fact, Source, as_list, as_row, number, text
from busproof.oracle.checks.facts import Appended, Content, Stored

BUS = ""


def of_call(call: Call) -> Iterator[Fact]:
    """A send is one message in the sender's outbox, and one in each recipient's inbox."""
    if call.op != "send":
        return
    id_, seq = text(call.params.get("id")), number(call.reply.get("seq"))
    sender = text(call.params.get("agent"))
    yield Appended(f"outbox {sender}", call.begin, call.end, call.outcome, None, id_, seq, sender, None, False, None)
    if id_ is not None and call.outcome != "fail":
        yield Content(BUS, id_, call.end, True, _digest(call.params))
    recipients = as_list(call.params.get("to"))
    if len(recipients) > 1 and sender is not None:  # a broadcast: a bus may choose whether its sender gets it
        yield Appended(f"inbox {sender}", call.begin, call.end, "info", None, id_, None, sender, sender, False, None)
    for to in recipients:
        lane = f"inbox {text(to)}"
        yield Appended(lane, call.begin, call.end, call.outcome, None, id_, None, sender, text(to), False, None)


def of_state(table: str, row: Any, place: int) -> Iterator[Fact]:
    """A row of an outbox, or a delivered file."""
    if table == "messages":
        row = as_row(row)
        lane, id_ = text(row.get("lane")), text(row.get("id"))
        yield Stored(lane, None, id_, number(row.get("seq")), None, None, False, False)  # type: ignore[arg-type]
        body = _digest(row)
        if id_ is not None and body is not None:
            yield Content(BUS, id_, place, False, body)


def _digest(message: dict[str, Any]) -> int | None:
    """Of the body, if the history tells it."""
    return digest(message["body"]) if "body" in message else None


SOURCE = Source(of_call, of_state, needed={}, numbers={"send": ("seq",)}, contract=CONTRACT)
