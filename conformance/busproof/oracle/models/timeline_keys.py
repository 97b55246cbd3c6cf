"""Routing keys of `timeline`: a closed set, written as subjects and read back, and the filters that match them.

A key is a dictionary with its `type` and every dimension of that type. Two keys are the same message's if and only if
every dimension is the same; so tokens are written such that nothing in a name adds a token or matches another.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Any

from busproof.contract.timeline import CONTRACT

DIMENSION, SEQUENCE = CONTRACT.bound_of["agent"], CONTRACT.bound_of["sequence"]

# type → its word in a subject, and its dimensions after timeline and submission, in their order there
VARIANTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "invoke": ("invoke", ("harness", "runtime", "agent")),
    "complete": ("complete", ("agent", "harness")),
    "request": ("req", ("agent", "service", "backend", "operation", "sequence")),
    "response": ("res", ("service", "backend", "agent", "operation", "sequence")),
    "delegate": ("delegate", ("caller", "target")),
    "delegate-reply": ("delegate-reply", ("caller", "target", "nonce")),
    "fork": ("fork", ("agent_name",)),
}
REPLY_TYPES = {"invoke": "complete", "request": "response", "delegate": "delegate-reply"}
WITH_STATE = ("complete", "delegate-reply")
PLAIN = frozenset((string.ascii_letters + string.digits + "-_~").encode())


class NoKey(Exception):
    """A value that is not a key; `of` says what is wrong with it: shape, empty, text, sequence, subject."""

    def __init__(self, of: str) -> None:
        super().__init__(of)
        self.of = of


def dimensions(type_: str) -> tuple[str, ...]:
    """All dimensions of a type, in the order of its subject."""
    return ("timeline", "submission", *VARIANTS[type_][1])


def checked_key(value: Any) -> dict[str, Any]:
    """A key, whole. Raises NoKey."""
    key = checked_filter(value)
    if key.keys() != {"type", *dimensions(key["type"])}:
        raise NoKey("shape")
    return key


def checked_filter(value: Any) -> dict[str, Any]:
    """A type, and any of its dimensions. Raises NoKey."""
    if type(value) is not dict or type(value.get("type")) is not str or value["type"] not in VARIANTS:
        raise NoKey("shape")
    if not value.keys() <= {"type", *dimensions(value["type"])}:
        raise NoKey("shape")
    for name, dimension in value.items():
        if name == "sequence":
            if not SEQUENCE.takes(dimension):
                raise NoKey("sequence")
        elif name != "type":
            checked_text(dimension)
    return dict(value)


def checked_text(value: Any) -> str:
    """One dimension. Raises NoKey."""
    if value == "":
        raise NoKey("empty")
    if not DIMENSION.takes(value):
        raise NoKey("text")
    return str(value)


def token(value: str | int) -> str:
    """A dimension as one token of a subject."""
    return "".join(chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in str(value).encode())


def subject(key: dict[str, Any]) -> str:
    """A key as it is written."""
    word, rest = VARIANTS[key["type"]]
    return ".".join(["vlinder", token(key["timeline"]), token(key["submission"]), word, *(token(key[n]) for n in rest)])


def key_of(text: Any) -> dict[str, Any]:
    """The key that is written so. Raises NoKey if there is none."""
    if type(text) is not str:
        raise NoKey("subject")
    first, *tokens = text.split(".")
    words = {word: type_ for type_, (word, _) in VARIANTS.items()}
    if first != "vlinder" or len(tokens) < 3 or tokens[2] not in words:
        raise NoKey("subject")
    type_ = words[tokens.pop(2)]
    names = dimensions(type_)
    if len(tokens) != len(names):
        raise NoKey("subject")
    key: dict[str, Any] = {"type": type_}
    for name, written in zip(names, tokens, strict=True):
        key[name] = _read(written)
        if name == "sequence":
            if not (written.isascii() and written.isdigit()):
                raise NoKey("subject")
            key[name] = int(written) if len(written) <= 16 else SEQUENCE.at(plus=1)
    try:
        checked_key(key)
    except NoKey as error:
        # No key has a dimension that is too long or too large: the size of a dimension is a sentence of its own.
        raise NoKey(error.of if error.of in ("text", "sequence") else "subject") from error
    if subject(key) != text:
        raise NoKey("subject")
    return key


def in_lower_case(text: str) -> str:
    """A subject with the other digits that an escape may have."""
    return re.sub(r"%[0-9A-F]{2}", lambda escape: escape[0].lower(), text)


def in_upper_case(text: Any) -> Any:
    """And back. A subject with an upper-case digit in an escape was not written so."""
    if type(text) is not str:
        return text
    if re.search(r"%([0-9a-f]?)[A-F]", text):
        raise NoKey("subject")
    return re.sub(r"%[0-9a-f]{2}", lambda escape: escape[0].upper(), text)


def _read(written: str) -> str:
    """The text that a token stands for; for a non-token, any text that is not written so."""
    try:
        return bytes(_bytes(written)).decode()
    except ValueError as error:
        raise NoKey("subject") from error


def _bytes(written: str) -> Iterator[int]:
    left = written.encode("utf-8", "surrogatepass")
    while left:
        if left[:1] == b"%":
            yield int(left[1:3], 16)
            left = left[3:]
        else:
            yield left[0]
            left = left[1:]


def reply_key(key: dict[str, Any], nonce: str | None) -> dict[str, Any] | None:
    """The key of the one reply to a key; None if it has none."""
    if key["type"] not in REPLY_TYPES:
        return None
    type_ = REPLY_TYPES[key["type"]]
    given = key | {"nonce": nonce}
    return {"type": type_, **{name: given[name] for name in dimensions(type_)}}


def filter_subjects(wanted: dict[str, Any]) -> tuple[str, ...]:
    """How a filter may be written: the open dimensions at its end as one `>`, or token by token."""
    word, rest = VARIANTS[wanted["type"]]
    tokens = [token(wanted[name]) if name in wanted else "*" for name in ("timeline", "submission")]
    after = [token(wanted[name]) if name in wanted else "*" for name in rest]
    in_full = ".".join(["vlinder", *tokens, word, *after])
    while after and after[-1] == "*":
        after.pop()
    in_short = ".".join(["vlinder", *tokens, word, *after, ">"])
    return (in_short, in_full) if len(after) < len(rest) else (in_full,)


def matches(wanted: dict[str, Any], key: dict[str, Any]) -> bool:
    """Does the key have the dimensions that the filter names?"""
    return all(key.get(name) == value for name, value in wanted.items())
