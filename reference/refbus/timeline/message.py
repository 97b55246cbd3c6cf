"""A message as it is recorded, and the chain that it is part of.

The hash of a message covers the hash before it and every field, each with its length in front, so that no two records
share a hash by moving bytes from one field to the next (T6). The hash before a timeline's first message is 64 zeros; of
a fork it is the parent's at the fork point, which makes of all timelines one DAG.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple, NotRequired, TypedDict

from refbus.kernel import jsontext
from refbus.kernel.errors import BusError, PayloadTooLarge
from refbus.kernel.rules import limit as limits
from refbus.timeline import keys, token
from refbus.timeline.keys import Key

PAYLOAD_BYTES_MAX = 1_000_000  # a server's default max_payload is 1 MiB, headers included
START = "0" * 64  # the hash before the first message of all


class Draft(NamedTuple):
    """A message before it has its place. `nonce` is a token; `state` a hash; `payload` the JSON text."""

    key: Key
    nonce: str | None
    state: str | None
    payload: str

    @property
    def subject(self) -> str:
        """The subject that it goes to."""
        return keys.subject(self.key)

    @property
    def timeline(self) -> str:
        """The token of its timeline."""
        return token.encode(self.key.timeline)


class Place(NamedTuple):
    """The end of a chain: number and hash of its last message."""

    number: int = 0
    hash: str = START


class Node(NamedTuple):
    """A recorded message, as it is stored."""

    number: int
    subject: str
    nonce: str | None
    state: str | None
    payload: str
    time_us: int
    previous: str
    hash: str

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.number, self.hash)

    @property
    def is_whole(self) -> bool:
        """Each field is of its type: a file takes any value in any column, and somebody else may write to it."""
        texts = self.subject, self.payload, self.previous, self.hash, self.nonce or "", self.state or ""
        return type(self.number) is type(self.time_us) is int and all(type(text) is str for text in texts)

    @property
    def content(self) -> tuple[str | None, ...]:
        """The fields that a second message of the same identity must have, too."""
        return self.nonce, self.state, self.payload


class Message(TypedDict):
    """A recorded message as its reader sees it. `payload_error`: it was damaged in the record.

    A value that is no text there is shown as one.
    """

    key: dict[str, Any] | None
    subject: str
    number: int
    payload: Any
    nonce: str | None
    state: str | None
    time_us: int
    previous: str
    hash: str
    status: str
    payload_error: NotRequired[str]


def draft(key: Key, payload: Any, nonce: str | None = None, state: str | None = None) -> Draft:
    """A message with its payload checked. Raises INVALID_ARGUMENT or PAYLOAD_TOO_LARGE."""
    nonce = None if nonce is None else token.encode(token.name("nonce", nonce))
    return Draft(key, nonce, state, json_text("payload", payload))


def json_text(what: str, value: Any) -> str:
    """The JSON text of a value. Raises INVALID_ARGUMENT for a value that has none, PAYLOAD_TOO_LARGE."""
    text = limits.payload(value)
    if len(text) > PAYLOAD_BYTES_MAX:
        raise PayloadTooLarge(f"the {what} has {len(text)} bytes of JSON, more than {PAYLOAD_BYTES_MAX}")
    return text


def state_hash(state: Any) -> str:
    """The hash of an agent's state, in any order of its members. Raises INVALID_ARGUMENT if it is no JSON value."""
    json_text("state", state)
    return hashlib.sha256(jsontext.canonical(state).encode()).hexdigest()


def chained(draft: Draft, last: Place, time_us: int) -> Node:
    """The message at its place behind `last`."""
    return follow(last, draft.subject, draft.nonce, draft.state, draft.payload, time_us)


def follow(last: Place, subject: str, nonce: str | None, state: str | None, payload: str, time_us: int) -> Node:
    """The node that is recorded behind `last`."""
    fields = (subject, nonce, state, payload, time_us, last.hash)
    return Node(last.number + 1, *fields, link(last.number + 1, *fields))


def link(
    number: int, subject: str, nonce: str | None, state: str | None, payload: str, time_us: int, previous: str
) -> str:
    """The hash of a message. Order: previous, number, subject, nonce, state, payload, time."""
    digest = hashlib.sha256()
    for field in (previous, str(number), subject, nonce or "", state or "", payload, str(time_us)):
        data = str(field).encode("utf-8", "surrogatepass")  # a damaged value has a hash as well, bytes another
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def shown(value: Any) -> Any:
    """A stored value as JSON can carry it: bytes as the text that they are."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def as_message(node: Node) -> Message:
    """A node as its reader sees it. A damaged one is reported as damaged, and hides no other."""
    message: Message = {
        "key": None,
        "subject": shown(node.subject),
        "number": shown(node.number),
        "payload": None,
        "nonce": shown(node.nonce),
        "state": shown(node.state),
        "time_us": shown(node.time_us),
        "previous": shown(node.previous),
        "hash": shown(node.hash),
        "status": "sent",
    }
    try:
        if not node.is_whole:
            raise ValueError("a column is of another type")
        message["key"] = keys.as_dict(keys.parse(node.subject))
        message["nonce"] = None if node.nonce is None else token.decode(node.nonce)
        message["payload"] = jsontext.decode(node.payload)
    except (ValueError, BusError) as error:
        message["payload_error"] = f"damaged: {error!s:.100}"
    return message
