"""The envelope: the form of a message, its limits, and the payloads of the standard types."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, cast

from refbus.kernel import iso, jsontext
from refbus.kernel.errors import BusError, InvalidArgument
from refbus.kernel.rules import limit as limits

VERSION = "1.0"
REQUIRED = ("id", "type", "version", "timestamp", "from_agent", "channel", "priority", "payload")
PRIORITY_MIN, PRIORITY_MAX = 1, 10


class Message(TypedDict):
    """An envelope as its reader sees it."""

    id: str
    type: str
    version: str
    timestamp: str
    correlation_id: str | None
    from_agent: str
    to_agent: str | None  # None: a broadcast
    channel: str
    priority: int  # 1 to 10, 10 is the highest
    payload: dict[str, Any]  # {} where payload_error is said
    payload_error: NotRequired[Literal["decode_failed", "no_object"]]


class Envelope(NamedTuple):
    """The columns of a message that its sender gives; `payload` as JSON text."""

    id: str
    type: str
    version: str
    timestamp: str
    correlation_id: str | None
    from_agent: str
    to_agent: str | None
    channel: str
    priority: int
    payload: str

    @property
    def content(self) -> tuple[Any, ...]:
        """All but the fields that each send has of its own: id, time and version."""
        return (self.type, self.correlation_id, *self[5:])


COLUMNS = Envelope._fields


def draft(
    *,
    message_id: str | None,
    message_type: str,
    correlation_id: str | None,
    from_agent: str,
    to_agent: str | None,
    channel: str,
    priority: int,
    payload: dict[str, Any],
) -> Envelope:
    """A message before it has its `timestamp`. Raises INVALID_ARGUMENT or PAYLOAD_TOO_LARGE."""
    limits.name("from_agent", from_agent)
    if to_agent is not None:
        limits.name("to_agent", to_agent)
    limits.text("message_type", message_type)
    limits.text("channel", channel)
    limits.integer("priority", priority, PRIORITY_MIN, PRIORITY_MAX)
    if correlation_id is not None:
        limits.text("correlation_id", correlation_id)
    if message_id is not None:
        _check_uuid(message_id)
    if type(payload) is not dict:
        raise InvalidArgument(f"payload must be an object, not {type(payload).__name__}")
    text = limits.payload(payload)
    _check_standard_payload(message_type, payload)
    return Envelope(
        message_id or str(uuid.uuid4()),
        message_type,
        VERSION,
        "",
        correlation_id,
        from_agent,
        to_agent,
        channel,
        priority,
        text,
    )


def as_message(row: tuple[Any, ...]) -> Message:
    """A row of COLUMNS as its reader sees it. A payload that a stranger damaged is reported as damaged."""
    message = cast(Message, dict(zip(COLUMNS, row, strict=True)))
    try:
        payload = jsontext.decode(row[-1])
    except (ValueError, TypeError):
        return {**message, "payload": {}, "payload_error": "decode_failed"}
    if type(payload) is not dict:
        return {**message, "payload": {}, "payload_error": "no_object"}
    message["payload"] = payload
    return message


def validate_message(message: Any) -> tuple[bool, list[str]]:
    """Is it an envelope of version 1.0? All faults, not only the first."""
    if type(message) is not dict:
        return False, ["message must be an object"]
    errors = [f"Missing required field: {field}" for field in REQUIRED if field not in message]
    for field, check in _FIELDS.items():
        if field in message:
            try:
                check(message[field])
            except BusError as error:
                errors.append(str(error))
    if message.get("version") != VERSION:
        errors.append(f"Unsupported version: {message.get('version')}")
    return not errors, errors


def _check_uuid(value: object) -> None:
    try:
        is_one = isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        is_one = False
    if not is_one:
        raise InvalidArgument(f"id must be a UUID, not {value!a:.60}")


def _check_priority(value: object) -> None:
    if type(value) is not int:  # True is an int in Python (C10)
        raise InvalidArgument("priority must be integer")
    if not PRIORITY_MIN <= value <= PRIORITY_MAX:
        raise InvalidArgument("priority must be 1-10")


def _check_payload(value: object) -> None:
    if type(value) is not dict:
        raise InvalidArgument("payload must be object")
    limits.payload(value)


def _optional(check: Callable[[object], object]) -> Callable[[object], object]:
    return lambda value: None if value is None else check(value)


_FIELDS: dict[str, Callable[[object], object]] = {
    "id": _check_uuid,
    "type": lambda value: limits.text("type", value),
    "timestamp": lambda value: iso.parse("timestamp", value),
    "from_agent": lambda value: limits.name("from_agent", value),
    "to_agent": _optional(lambda value: limits.name("to_agent", value)),
    "channel": lambda value: limits.text("channel", value),
    "correlation_id": _optional(lambda value: limits.text("correlation_id", value)),
    "priority": _check_priority,
    "payload": _check_payload,
}


# -- the standard types: field → (is it required, a test of its value)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is str for item in value)


def _is_time(value: object) -> bool:
    try:
        iso.parse("deadline", value)
    except InvalidArgument:
        return False
    return True


Field = tuple[bool, str, Callable[[object], bool]]
_TEXT: Field = (True, "a string", lambda value: type(value) is str)
_MAYBE_TEXT: Field = (False, *_TEXT[1:])
_MAYBE_NUMBER: Field = (False, "a number", lambda value: type(value) in (int, float))
_OBJECT: Field = (True, "an object", lambda value: type(value) is dict)

STANDARD_TYPES: dict[str, dict[str, Field]] = {
    "context.query": {"query": _TEXT, "aspects": (False, "a list of strings", _is_texts)},
    "context.response": {"context": _OBJECT, "artifact_path": _MAYBE_TEXT},
    "task.claim": {"task_id": _TEXT},
    "task.update": {"task_id": _TEXT, "status": _TEXT, "progress": _MAYBE_NUMBER},
    "vote.initiate": {
        "topic": _TEXT,
        "options": (True, "a list of strings", _is_texts),
        "deadline": (True, "an ISO 8601 time with its zone", _is_time),
    },
    "vote.cast": {"vote_id": _TEXT, "option": _TEXT, "reasoning": _MAYBE_TEXT},
    "broadcast": {"message": _TEXT, "severity": _TEXT},
    "heartbeat": {"status": _TEXT, "current_task": _MAYBE_TEXT},
}


def _check_standard_payload(message_type: str, payload: dict[str, Any]) -> None:
    """Fields beyond the schema are the sender's own business."""
    for field, (required, wanted, is_good) in STANDARD_TYPES.get(message_type, {}).items():
        if field not in payload:
            if required:
                raise InvalidArgument(f"the payload of {message_type} lacks {field}")
        elif not is_good(payload[field]):
            raise InvalidArgument(f"{field} of {message_type} must be {wanted}")
