"""Times as text: ISO 8601, UTC, microseconds, `Z` (C7). Such texts sort as the times do."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from refbus.kernel.errors import InvalidArgument

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Python reads a fraction of an hour or a minute as one of a second, and so another time than was meant.
_FRACTION_OF_MORE = re.compile(r"(?<!\d\d:\d\d:\d\d)(?<!\D\d{6})[.,]\d", re.ASCII)
END_US = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z, the last time that has a text


def text(at_us: int) -> str:
    """Epoch microseconds as text. Raises INVALID_ARGUMENT for a time beyond the years 1 to 9999."""
    if not -62_135_596_800_000_000 <= at_us <= END_US:
        raise InvalidArgument(f"{at_us} µs lies beyond what ISO 8601 can tell")
    return (_EPOCH + timedelta(microseconds=at_us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse(what: str, value: object) -> int:
    """Epoch microseconds of a text with its zone. Raises INVALID_ARGUMENT."""
    try:
        at = datetime.fromisoformat(value)  # type: ignore[arg-type]
        if _FRACTION_OF_MORE.search(str(value)):
            raise ValueError
    except (ValueError, TypeError):
        raise InvalidArgument(f"{what} must be an ISO 8601 time, not {value!a:.80}") from None
    if at.tzinfo is None:
        raise InvalidArgument(f"{what} must tell its zone (Z or an offset): {value!a:.80}")
    return (at - _EPOCH) // timedelta(microseconds=1)
