"""The content of a message as one number, so that contents are compared and not carried along."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode  # members in one order: JSON gives them none
_MAY_HOLD_FLOAT = re.compile(rb"\d[.e]").search
BYTES_KEPT = 1_000  # of a content, whose digest is then kept for its next readers


def digest(*fields: Any) -> int | None:
    """The same for the same JSON values, whatever the order of members, and for 1.0 as for 1; None if there is none."""
    try:
        data = _encode(fields)
        if len(data) <= BYTES_KEPT:
            return _of_short(data)
        if _MAY_HOLD_FLOAT(data):
            data = _encode(_whole(fields))
    except UnicodeEncodeError:  # half a surrogate
        data = json.dumps(_whole(fields), sort_keys=True).encode()
    except (ValueError, TypeError, RecursionError):  # nested without end, say: nobody knows
        return None
    return _of_bytes(data)


@lru_cache(10_000)
def _of_short(data: bytes) -> int:
    return _of_bytes(_encode(_whole(msgspec.json.decode(data))) if _MAY_HOLD_FLOAT(data) else data)


def _of_bytes(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), signed=True)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(member) for name, member in value.items()}
    return [_whole(member) for member in value] if isinstance(value, (list, tuple)) else value


def decoded(column: Any) -> Any:
    """The value of a column of JSON text, or that is decoded; text that is no JSON is a value of its own."""
    try:
        return msgspec.json.decode(column) if isinstance(column, str) else column
    except (ValueError, RecursionError):
        return column
