"""Filters: one type of key, and values for some of its dimensions. The rest match anything.

As a subject, a free dimension is `*`, and all that are free at the end together are `>`:
`vlinder.*.*.req.*.infer.ollama.>` is the filter of a worker for that backend of that service.

Workers that share a filter and a group share one durable consumer: its name is injective in both, because two
consumers under one name would take each other's messages (T1).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from refbus.kernel.errors import InvalidArgument
from refbus.timeline import keys, token
from refbus.timeline.keys import Key, Kind

CONSUMER_CHARS_MAX = 200  # a server takes 255


@dataclass(frozen=True, slots=True)
class Filter:
    """`tokens`: of each dimension in the subject's order; None matches anything."""

    kind: Kind
    tokens: tuple[str | None, ...]
    group: str | None = None

    @property
    def subject(self) -> str:
        """The filter as NATS knows it."""
        parts = [written or "*" for written in self.tokens]
        parts.insert(2, keys.TOKENS[self.kind])
        if parts[-1] == "*":
            while parts[-1] == "*":
                parts.pop()
            parts.append(">")
        return ".".join((keys.ROOT, *parts))

    @property
    def consumer(self) -> str:
        """The durable consumer's name: the subject in signs that a name may have, or its hash where it is long."""
        group = "" if self.group is None else f"@{token.encode(self.group)}"
        readable = self.subject.replace(".", "+").replace("*", "=").replace(">", "==") + group
        if len(readable) <= CONSUMER_CHARS_MAX:
            return readable
        return f"sha256+{hashlib.sha256(readable.encode()).hexdigest()}"  # no readable one begins so

    @property
    def glob(self) -> str:
        """For SQLite, beside a condition on the type: one type has one number of dots, so each `*` is one token."""
        parts = [written or "*" for written in self.tokens]
        parts.insert(2, keys.TOKENS[self.kind])
        return ".".join((keys.ROOT, *parts))

    def matches(self, key: Key) -> bool:
        """Is the key meant?"""
        values = (keys.value_token(getattr(key, name)) for name in keys.DIMENSIONS[type(key)])
        return type(key) is self.kind and all(
            wanted is None or wanted == written for wanted, written in zip(self.tokens, values, strict=True)
        )


def from_dict(value: object, group: object = None) -> Filter:
    """A filter from an object with a type and some of its dimensions."""
    kind, dimensions = keys.kind_of(value)
    names = keys.DIMENSIONS[kind]
    if strange := sorted(set(map(str, dimensions)) - set(names)):
        raise InvalidArgument(f"a key of type {keys.NAMES[kind]} has no {', '.join(strange):.200}")
    if group is not None:
        token.name("group", group)
    return Filter(kind, tuple(_token(name, dimensions.get(name)) for name in names), group)  # type: ignore[arg-type]


def exactly(key: Key) -> Filter:
    """The filter that this key alone passes."""
    return Filter(type(key), tuple(keys.value_token(getattr(key, name)) for name in keys.DIMENSIONS[type(key)]))


def _token(dimension: str, value: Any) -> str | None:
    return None if value is None else keys.value_token(keys.checked(dimension, value))
