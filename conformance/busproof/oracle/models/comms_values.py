"""The values that `comms` allows: ids, JSON, envelopes, and the payloads of the standard types."""

from __future__ import annotations

import json
import math
import uuid
from typing import Any

from busproof.contract.bounds import LEVELS_MAX
from busproof.contract.comms import CONTRACT
from busproof.oracle.models.parts import us_of
from busproof.words import is_text

BOUND_OF = CONTRACT.bound_of
PAYLOAD_BYTES_MAX = int(BOUND_OF["payload"].high)
SHALLOW = 100  # less than any library's own bound: 127 and 128 are usual

ENVELOPE_ROWS = {
    "id": "comms.log.03",
    "type": "comms.log.04",
    "version": "comms.log.05",
    "timestamp": "comms.log.06",
    "correlation_id": "comms.log.07",
    "from_agent": "comms.log.08",
    "to_agent": "comms.log.09",
    "channel": "comms.log.10",
    "priority": "comms.log.11",
    "payload": "comms.log.12",
}
OPTIONAL = ("to_agent", "correlation_id")

# Payloads of the standard types: their row, and member → kind (`?`: may be absent). Further members are free.
STANDARD: dict[str, tuple[str, dict[str, str]]] = {
    "context.query": ("comms.log.43", {"query": "text", "aspects?": "texts"}),
    "context.response": ("comms.log.44", {"context": "object", "artifact_path?": "text"}),
    "task.claim": ("comms.log.45", {"task_id": "text"}),
    "task.update": ("comms.log.46", {"task_id": "text", "status": "text", "progress?": "number"}),
    "vote.initiate": ("comms.log.47", {"topic": "text", "options": "texts", "deadline": "time"}),
    "vote.cast": ("comms.log.50", {"vote_id": "text", "option": "text", "reasoning?": "text"}),
    "broadcast": ("comms.log.48", {"message": "text", "severity": "text"}),
    "heartbeat": ("comms.log.49", {"status": "text", "current_task?": "text"}),
}


def is_uuid(value: Any) -> bool:
    """In the usual form, in either case."""
    try:
        return type(value) is str and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False


def is_a(kind: str, value: Any) -> bool:
    """Of a kind that STANDARD names."""
    if kind == "texts":
        return type(value) is list and all(type(text) is str for text in value)
    if kind == "time":
        return us_of(value) is not None
    return type(value) in {"text": (str,), "number": (int, float), "object": (dict,)}[kind]


def breaks_standard(message_type: str, payload: dict[str, Any]) -> bool:
    """Is it a standard type's payload, but not of the seed's form?"""
    for member, kind in STANDARD.get(message_type, ("", {}))[1].items():
        name = member.removesuffix("?")
        if not (is_a(kind, payload[name]) if name in payload else member != name):
            return True
    return False


def json_fault(value: Any, bytes_max: int = PAYLOAD_BYTES_MAX) -> str | None:
    """The code that refuses a value: no JSON, nested too deep, too long as text."""
    if not _is_json(value, LEVELS_MAX):
        return "INVALID_ARGUMENT"
    return "PAYLOAD_TOO_LARGE" if len(json.dumps(value)) > bytes_max else None


def with_nulls(value: Any) -> Any:
    """The same, with null for every number that JSON does not know."""
    if isinstance(value, dict):
        return {name: with_nulls(member) for name, member in value.items()}
    if isinstance(value, list):
        return [with_nulls(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def is_deep(value: Any) -> bool:
    """Is it nested so that only a bound on levels refuses it?"""
    return not _is_json(value, SHALLOW)


def _is_json(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        inner = [*value, *value.values()]
    elif isinstance(value, list):
        inner = value
    elif isinstance(value, str):
        return is_text(value)
    else:
        return not isinstance(value, float) or math.isfinite(value)
    return levels > 0 and all(_is_json(member, levels - 1) for member in inner)


def envelope_faults(message: Any) -> dict[str, str]:
    """All that is wrong with an envelope: member → the row that it breaks."""
    if type(message) is not dict:
        return {"message": "comms.log.64"}
    faults = {}
    for member in ENVELOPE_ROWS:
        value = message.get(member)
        if member not in message:
            if member not in OPTIONAL:
                faults[member] = "comms.log.53"
        elif not (value is None and member in OPTIONAL) and not _is_good(member, value):
            faults[member] = _row_of_fault(member, value)
    return faults


def _is_good(member: str, value: Any) -> bool:
    if member == "payload":
        return type(value) is dict and json_fault(value) is None
    if member == "timestamp":
        return us_of(value) is not None
    if member == "version":
        return bool(value == "1.0")
    if member == "id":
        return is_uuid(value)
    return BOUND_OF[member].takes(value)


def _row_of_fault(member: str, value: Any) -> str:
    if member == "priority" and type(value) is not bool:
        return "comms.log.54"
    return {"version": "comms.log.56", "payload": "comms.log.55"}.get(member, "comms.log.64")
