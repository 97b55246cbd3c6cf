"""The facts of `topics`. Each topic is a lane, and dense: its seq begins with 1 and has no gaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from busproof.contract.topics import CONTRACT
from busproof.oracle.checks.calls import Call
from busproof.oracle.checks.extract.digest import digest
from busproof.oracle.checks.extract.source import Fact, Source, as_list, as_row, flag, number, text
from busproof.oracle.checks.facts import Appended, Content, Delivered, Jump, Read, Stored

ITEMS_MAX = 20  # the default of a sync
BETWEEN = "\x1f"
NAMING = ("topic_create", "topic_resolve", "topic_join")  # they answer with the id of a topic, and its name


def of_call(call: Call) -> Iterator[Fact]:
    """The facts of one call."""
    if call.op in NAMING and (named := text(call.reply.get("topic_id"))) is not None:
        yield Content("names", named, call.end, False, digest(call.reply.get("name")))
    topic = text(call.params.get("topic_id"))
    if topic is None:
        return
    if call.op == "sync":
        is_moving = call.params.get("auto_advance") is not False
        yield from _items(call, topic)
        if call.outcome == "ok" and not call.is_malformed:
            yield from _read(call, topic, is_moving)
        if call.outcome != "fail" and _cursor(call) is None:  # nobody knows how far it went
            yield Jump(topic, call.agent, call.begin, call.end, None, is_back=False)
    elif call.op == "cursor_reset" and call.outcome != "fail":
        yield Jump(topic, call.agent, call.begin, call.end, _cursor(call), is_back=True)


def _cursor(call: Call) -> int | None:
    return number(as_row(call.reply.get("cursor")).get("last_seq"))


def _name(sender: str | None, key: str | None) -> str | None:
    """A sender's name for a message: its client_message_id, which is the sender's own."""
    return None if key is None else f"{sender}{BETWEEN}{key}"


def _items(call: Call, topic: str) -> Iterator[Fact]:
    sent_rows = as_list(call.reply.get("sent"))
    for place, item in enumerate(as_list(call.params.get("outbox"))):
        answer = as_row(sent_rows[place]) if place < len(sent_rows) else {}
        message = as_row(answer.get("message"))
        key, id_, seq = text(as_row(item).get("client_message_id")), text(message.get("message_id")), message.get("seq")
        yield Appended(
            topic,
            call.begin,
            call.end,
            call.outcome,
            _name(call.agent, key),
            id_,
            number(seq),
            call.agent,
            None,
            key is None or flag(answer.get("duplicate")) is False,
            None,
        )
        sent, by = id_ if key is None else _name(call.agent, key), {"sender": call.agent, "client_message_id": key}
        if sent is not None and call.outcome != "fail":
            yield Content(topic, sent, call.end, True, _digest({**as_row(item), **by}))
            if message:  # its sender knows whose it is, whatever the answer says
                yield from _shown(topic, sent, {**by, **message}, call.end)


def _read_as(topic: str, row: dict[str, Any], end: int) -> Iterator[Content]:
    key = text(row.get("client_message_id"))
    message = text(row.get("message_id")) if key is None else _name(text(row.get("sender")), key)
    if message is not None:
        yield from _shown(topic, message, row, end)


def _shown(topic: str, message: str, row: dict[str, Any], end: int) -> Iterator[Content]:
    """Only if it tells the content: a state may not."""
    hash_ = _digest(row)
    if hash_ is not None and "content_markdown" in row:
        yield Content(topic, message, end, False, hash_)


def _digest(row: dict[str, Any]) -> int | None:
    type_, by = text(row.get("message_type")) or "message", (row.get("sender"), row.get("client_message_id"))
    return digest(type_.strip(), row.get("reply_to"), row.get("content_markdown"), *by)


def _read(call: Call, topic: str, is_moving: bool) -> Iterator[Fact]:
    params, rows = call.params, call.reply.get("received")
    count: Any = len(rows) if isinstance(rows, list) else None
    yield Read(
        topic,
        call.agent,
        call.begin,
        call.end,
        count,
        number(params.get("max_items")) or ITEMS_MAX,
        _cursor(call),
        is_moving,
        number(params.get("ack_through")),
        bool(flag(params.get("include_self"))),
        is_all=flag(call.reply.get("has_more")) is False,
    )
    for place, row in enumerate(map(as_row, as_list(rows))):
        id_, seq, sender = text(row.get("message_id")), number(row.get("seq")), text(row.get("sender"))
        yield Delivered(call.end, place, id_, seq, sender, None, True, None, None)
        yield from _read_as(topic, row, call.end)


def of_state(table: str, row: Any, place: int) -> Iterator[Fact]:
    """The facts of one row of the final state."""
    if table == "messages":
        row = as_row(row)
        topic, id_, seq, sender = (
            text(row.get("topic_id")),
            text(row.get("message_id")),
            number(row.get("seq")),
            text(row.get("sender")),
        )
        name = _name(sender, text(row.get("client_message_id")))
        yield Stored(topic, name, id_, seq, sender, None, False, False)  # type: ignore[arg-type]
        if topic is not None:
            yield from _read_as(topic, row, place)


SOURCE = Source(
    of_call,
    of_state,
    needed={Stored: ("seq", "sender"), Delivered: ("seq", "sender"), Read: ("after",)},
    numbers={},
    contract=CONTRACT,
)
