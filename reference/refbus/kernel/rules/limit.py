"""Limits of values: sizes, names, whole numbers, and how much may lie unread. Pure.

Free text (a type, an id, a correlation) holds no control characters and no half surrogates. A *name* (agent, worker,
task) moreover holds no `/`, `\\` or `..`, because names become parts of paths sooner or later.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from refbus.kernel import jsontext
from refbus.kernel.errors import Backpressure, InvalidArgument, PayloadTooLarge

INLINE_PAYLOAD_BYTES_MAX = 4096  # W4: 4096 bytes of JSON text are inline, 4097 are a blob
PAYLOAD_BYTES_MAX = 4 * 1024 * 1024
TEXT_CHARS_MAX = 1024
NAME_BYTES_MAX = 200  # with its suffix, a name still fits a file name
INT64_MAX = 2**63 - 1
NOW_MS_MAX = 2**53  # leaves room for a lease on top, and every language can hold it


def text(what: str, value: object, chars_max: int = TEXT_CHARS_MAX) -> str:
    """Free text: not empty, not long, nothing invisible that breaks a terminal or a C string."""
    value = _sized(what, value, chars_max)
    # isprintable() is a quick yes; its no also covers harmless characters such as a zero-width joiner.
    if not value.isprintable() and any(
        char < " " or "\x7f" <= char < "\xa0" or "\ud800" <= char <= "\udfff" for char in value
    ):
        raise InvalidArgument(f"{what} holds control characters or half surrogates: {value!a:.80}")
    return value


def stripped(what: str, value: object, chars_max: int = TEXT_CHARS_MAX) -> str:
    """Free text, without the blanks around it."""
    return text(what, value.strip() if type(value) is str else value, chars_max)


def visible(what: str, checked: str) -> str:
    """Text that says all of itself: no format characters, line separators, private or unassigned ones, odd blanks."""
    if not checked.isprintable():
        raise InvalidArgument(f"{what} holds characters that cannot be seen: {checked!a:.80}")
    return checked


def body(what: str, value: object, chars_max: int) -> str:
    """A text of many lines: any characters that Unicode knows."""
    value = _sized(what, value, chars_max)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{what} holds half surrogates at character {error.start}") from error
    return value


def flag(what: str, value: object) -> bool:
    """True or false; 0 and 1 are none."""
    if type(value) is not bool:
        raise InvalidArgument(f"{what} must be true or false, not {_kind(value)}")
    return value


def one_of(what: str, value: object, known: Collection[str]) -> str:
    """One of a few words."""
    if type(value) is not str:
        raise InvalidArgument(f"{what} must be a string, not {_kind(value)}")
    if value not in known:
        raise InvalidArgument(f"{what} must be one of {', '.join(known)}, not {value!a:.40}")
    return value


def name(what: str, value: object) -> str:
    """Text that could become part of a path."""
    checked = text(what, value)
    if "/" in checked or "\\" in checked or ".." in checked or checked == ".":
        raise InvalidArgument(f"{what} must not hold '/', '\\' or '..': {checked!r:.80}")
    if len(checked) > NAME_BYTES_MAX // 4 and len(checked.encode()) > NAME_BYTES_MAX:
        raise InvalidArgument(f"{what} must have at most {NAME_BYTES_MAX} bytes")
    return checked


def integer(what: str, value: object, low: int = 0, high: int = INT64_MAX) -> int:
    """A whole number; True is none."""
    if type(value) is not int:
        raise InvalidArgument(f"{what} must be a whole number, not {_kind(value)}")
    if not low <= value <= high:
        raise InvalidArgument(f"{what} must lie between {low} and {high}")
    return value


def number(what: str, value: object, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number; True is none."""
    if type(value) is int:
        value = float(integer(what, value, -INT64_MAX - 1))
    if type(value) is not float or not math.isfinite(value):
        raise InvalidArgument(f"{what} must be a finite number, not {_kind(value)}")
    if not low <= value <= high:
        raise InvalidArgument(f"{what} must lie between {low} and {high}")
    return value


def payload(value: Any) -> str:
    """The JSON text of a payload that is present."""
    try:
        stored = jsontext.encode(value)
    except ValueError as error:
        raise InvalidArgument(f"the payload is no JSON value: {error!s:.200}") from error
    if len(stored) > PAYLOAD_BYTES_MAX:  # the text is ASCII: its characters are its bytes
        raise PayloadTooLarge(f"the payload has {len(stored)} bytes of JSON, more than {PAYLOAD_BYTES_MAX}")
    return stored


def is_inline(stored: str) -> bool:
    """Does the text stay in the row, or is it a blob?"""
    return len(stored) <= INLINE_PAYLOAD_BYTES_MAX


def room(recipient: str, unread: int, more: int, unread_max: int) -> None:
    """Refuse messages that would leave a recipient with more than unread_max unread ones."""
    if unread + more > unread_max:
        raise Backpressure(f"{recipient} has no room: at most {unread_max} unread messages may wait")


def _sized(what: str, value: object, chars_max: int) -> str:
    if type(value) is not str:
        raise InvalidArgument(f"{what} must be a string, not {_kind(value)}")
    if not 0 < len(value) <= chars_max:
        raise InvalidArgument(f"{what} must have 1 to {chars_max} characters, not {len(value)}")
    return value


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__
