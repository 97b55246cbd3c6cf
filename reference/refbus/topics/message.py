"""A message: as its sender may say it, as it stands in a row, as its reader gets it."""

from __future__ import annotations

from itertools import chain
from typing import Any, TypedDict

from refbus.kernel import jsontext
from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import limit as limits

Row = tuple[Any, ...]

OUTBOX_MAX = 50
BODY_CHARS_MAX = 65_536
TYPE_CHARS_MAX = 32
CLIENT_ID_CHARS_MAX = 128
YEAR_1_S, YEAR_10000_S = -62_135_596_800, 253_402_300_800  # Unix seconds

COLUMNS = (
    "message_id",
    "topic_id",
    "seq",
    "sender",
    "message_type",
    "reply_to",
    "content_markdown",
    "metadata_json",
    "client_message_id",
    "created_at",
)


class Message(TypedDict):
    """A message as its reader sees it."""

    message_id: str
    topic_id: str
    seq: int
    sender: str
    message_type: str
    reply_to: str | None
    content_markdown: str
    metadata: dict[str, Any] | None
    client_message_id: str | None
    created_at: float  # Unix seconds


class Draft:
    """A checked item of an outbox. An error says what is wrong with it, to be read after its place there."""

    __slots__ = ("body", "client_id", "metadata_json", "reply_to", "type")

    def __init__(self, item: Any) -> None:
        if type(item) is not dict:
            raise InvalidArgument(" must be an object with content_markdown")
        if "content" in item and "content_markdown" not in item:
            raise InvalidArgument(".content must be called content_markdown")
        get = item.get
        self.body = limits.body(".content_markdown", get("content_markdown"), BODY_CHARS_MAX)
        type_, reply_to, client_id = get("message_type"), get("reply_to"), get("client_message_id")
        self.type = "message" if type_ is None else limits.stripped(".message_type", type_, TYPE_CHARS_MAX)
        self.reply_to = None if reply_to is None else limits.text(".reply_to", reply_to)
        self.metadata_json = metadata_text(".metadata", get("metadata"))
        self.client_id = (
            None if client_id is None else limits.stripped(".client_message_id", client_id, CLIENT_ID_CHARS_MAX)
        )

    def says_the_same(self, message: Message) -> bool:
        """Is a stored message this draft? As JSON texts, 1, 1.0 and true are three values (B6)."""
        metadata = None if self.metadata_json is None else jsontext.decode(self.metadata_json)
        return (self.body, self.type, self.reply_to, jsontext.canonical(metadata)) == (
            message["content_markdown"],
            message["message_type"],
            message["reply_to"],
            jsontext.canonical(message["metadata"]),
        )


def drafts(outbox: Any) -> list[Draft]:
    """The items of an outbox. Models also send one object alone, or the JSON text of a list.

    Raises INVALID_ARGUMENT, which names the item.
    """
    if outbox is None:
        return []
    if type(outbox) is str:
        try:
            outbox = jsontext.decode(outbox)
        except ValueError as error:
            raise InvalidArgument(f"outbox must be a list of objects; this text is no JSON: {error}") from error
    if type(outbox) is dict:
        outbox = [outbox]
    if type(outbox) is not list:
        raise InvalidArgument("outbox must be a list of objects")
    if len(outbox) > OUTBOX_MAX:
        raise InvalidArgument(f"outbox must have at most {OUTBOX_MAX} items, not {len(outbox)}")
    checked: list[Draft] = []
    try:
        for item in outbox:
            checked.append(Draft(item))
    except InvalidArgument as error:
        raise InvalidArgument(f"outbox[{len(checked)}]{error}") from error
    return checked


def as_messages(rows: list[Row]) -> list[Message]:
    """Rows of `messages` as their reader sees them."""
    if bytes in map(type, chain.from_iterable(rows)):
        # A stranger's: shown as text, rather than breaking the reply.
        rows = [tuple(map(readable, row)) for row in rows]
    return list(map(as_message, rows))


def as_message(row: Row) -> Message:
    """One row that this bus wrote."""
    message_id, topic_id, seq, sender, type_, reply_to, body, metadata_json, client_id, created_at = row
    metadata = None if metadata_json is None else metadata_value(metadata_json)
    return {
        "message_id": "" if message_id is None else message_id,  # SQLite lets a key of text be NULL
        "topic_id": topic_id,
        "seq": seq,
        # NULL, where another program's table allows it, is an empty text to a reader.
        "sender": "" if sender is None else sender,
        "message_type": "" if type_ is None else type_,
        "reply_to": reply_to,
        "content_markdown": "" if body is None else body,
        "metadata": metadata,
        "client_message_id": client_id,
        "created_at": moment(created_at),
    }


def metadata_text(what: str, metadata: Any) -> str | None:
    """The JSON text of an optional object."""
    if metadata is None:
        return None
    if type(metadata) is not dict:
        raise InvalidArgument(f"{what} must be an object or null")
    try:
        text = jsontext.encode(metadata)
    except ValueError as error:
        raise InvalidArgument(f"{what} is no JSON object: {error!s:.200}") from error
    if len(text) > limits.PAYLOAD_BYTES_MAX:
        raise InvalidArgument(f"{what} has {len(text)} bytes of JSON, more than {limits.PAYLOAD_BYTES_MAX}")
    return text


def metadata_value(text: Any) -> dict[str, Any] | None:
    """The object that is stored; null where a stranger stored anything else."""
    if text is None:
        return None
    try:
        value = jsontext.decode(text)
    except (ValueError, TypeError):
        return None
    return value if type(value) is dict else None


def moment(cell: Any) -> float:
    """Unix seconds; 0 where a stranger stored anything else, for a client may end a session over a text there.

    A number outside the years 1 to 9999 is no time, either: no page and no export could write it as a date.
    """
    return float(cell) if type(cell) in (int, float) and YEAR_1_S <= cell < YEAR_10000_S else 0.0


def readable(cell: Any) -> Any:
    return cell.decode("utf-8", "replace") if type(cell) is bytes else cell
