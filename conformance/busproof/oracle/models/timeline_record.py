"""The record of `timeline`: numbered messages, each chained to the one before it by its hash."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any

from busproof.contract.bounds import LEVELS_MAX
from busproof.oracle.models.spec import Cited, Difference, Fits, Free, Json, Part, differs, plain
from busproof.oracle.models.timeline_keys import VARIANTS, token
from busproof.words import is_text

START = "0" * 64
FIELD_SHOWN = 120  # characters
MESSAGE_ROWS = dict(zip(VARIANTS, ("log.01", "log.04", "log.02", "log.03", "log.05", "log.06", "log.07"), strict=True))


def row_of(type_: str) -> str:
    """The sentence that promises messages of this type."""
    return f"timeline.{MESSAGE_ROWS[type_]}"


def text_of(value: Any) -> str:
    """The JSON text that is recorded: ASCII, a blank after comma and colon."""
    return json.dumps(value)


def canonical(value: Any) -> str:
    """The same text for the same value, in any order of its members."""
    return json.dumps(value, sort_keys=True)


def is_json(value: Any, depth: int = 0) -> bool:
    """Can it be written as JSON that any reader takes?"""
    if isinstance(value, dict | list):
        members = [*value, *value.values()] if isinstance(value, dict) else value
        return depth < LEVELS_MAX and all(is_json(member, depth + 1) for member in members)
    if isinstance(value, str):
        return is_text(value)
    return not isinstance(value, float) or math.isfinite(value)


class Digest(Free):
    """A hash of a form that no sentence sets: a text, and no other message's."""

    def __init__(self, name: str, others: list[str | Free]) -> None:
        super().__init__(name)
        self.others = others

    def fits(self, value: Any) -> bool:
        """A different one for each message."""
        return type(value) is str and value != "" and all(plain(other) != value for other in self.others)

    def takes(self, value: Any) -> bool:
        """As any; once bound, it lets go of the others."""
        is_it = super().takes(value)
        if self.value is not None:
            self.others = []
        return is_it


@dataclass(frozen=True)
class State(Part):
    """The hash of a state. Its presence or absence is the message's own sentence; its value, a choice."""

    value: str | None
    row: str

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """As any, but under the sentence that the difference breaks."""
        is_other = (self.value is None) is not (actual is None)
        return differs(self.value, actual, path, (self.row,) if is_other else ("timeline.log.26",))

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Nonce(Part):
    """The nonce of a delegation. A message that shows none, or one of none, is a choice; another nonce is wrong."""

    value: str | None

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """As any, but under the sentence that the difference breaks."""
        is_other = self.value is not None and actual is not None
        return differs(self.value, actual, path, ("timeline.route.15" if is_other else "timeline.route.28",))

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(eq=False)
class Message:
    """A message of the record. Its timeline gives it a number, and the hash before it."""

    key: dict[str, Any]
    subject: str
    nonce: str | None
    said: str | None  # the text of its state
    payload: str
    time_us: int
    is_in_ms: bool  # is its time told in milliseconds?
    number: int = 0
    previous: str | Free = START
    hash: str | Free = ""
    follows_fork: bool = False  # is it the first since its timeline was forked?

    @property
    def state(self) -> str | None:
        """The hash of its state."""
        return None if self.said is None else hashlib.sha256(self.said.encode()).hexdigest()

    @property
    def fields(self) -> tuple[str, ...]:
        """The input of the hash: the hash before and every field."""
        return (
            plain(self.previous) or "",
            str(self.number),
            self.subject,
            "" if self.nonce is None else token(self.nonce),
            self.state or "",
            self.payload,
            str(self.time_us),
        )

    def chained(self) -> str:
        """The hash of the page: over every field, each with its length in front."""
        parts = [text.encode() for text in self.fields]
        return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()

    @property
    def hash_told(self) -> Fits | Free:
        """The hash, and its input for a reader who got another one."""
        if isinstance(self.hash, Free):
            return self.hash
        fields = [text if len(text) <= FIELD_SHOWN else f"{text[:FIELD_SHOWN]} …" for text in self.fields]
        return Fits(f"{self.hash}, the hash of {fields}", lambda seen: bool(seen == self.hash))

    @property
    def content(self) -> tuple[str, str | None]:
        """The fields besides key and nonce that make it the same again."""
        return self.payload, self.said

    @property
    def value(self) -> Json:
        """The payload."""
        return Json(json.loads(self.payload))

    def is_result_of(self, agent: str) -> bool:
        """Did the agent end something with it?"""
        names = {"complete": "agent", "delegate-reply": "target"}
        return self.key["type"] in names and self.key[names[self.key["type"]]] == agent

    def told(self) -> dict[str, Any]:
        """As a reader gets it."""
        return {
            "key": Cited(self.key, ("timeline.cursor.10", "timeline.log.13")),
            "subject": Cited(self.subject, ("timeline.route.03",)),
            "number": Cited(self.number, ("timeline.log.16",)),
            "payload": Cited(self.value, ("timeline.log.10", row_of(self.key["type"]))),
            "nonce": Nonce(self.nonce),
            "state": State(self.state, row_of(self.key["type"])),
            "time_us": Cited(self.time_us // (1000 if self.is_in_ms else 1), ("timeline.log.30",)),
            "previous": Cited(self.previous, ("timeline.log.17",)),
            "hash": Cited(self.hash_told, ("timeline.log.18", "timeline.log.19")),
            "status": "sent",
        }


@dataclass(frozen=True)
class DigestOf(Part):
    """The hash of messages' hashes, which may be free until they are told."""

    messages: list[Message]

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """As any."""
        return differs(repr(self), actual, path, rows)

    def __repr__(self) -> str:
        return hashlib.sha256("".join(plain(message.hash) or "" for message in self.messages).encode()).hexdigest()


@dataclass(eq=False)
class Timeline:
    """A lane of the record; a fork's begins at its parent's message `at`, after the hash that stands there."""

    name: str
    parent: str | None = None
    at: int = 0
    before: str | Free = START
    messages: list[Message] = field(default_factory=list)
    was_forked: bool = False  # since its last message

    @property
    def last(self) -> tuple[int, str | Free]:
        """Number and hash of its end."""
        return (self.messages[-1].number, self.messages[-1].hash) if self.messages else (self.at, self.before)

    def append(self, message: Message) -> None:
        """Behind the last."""
        number, message.previous = self.last
        message.number = number + 1
        message.hash = message.chained()
        message.follows_fork, self.was_forked = self.was_forked, False
        self.messages.append(message)

    def told(self) -> dict[str, Any]:
        """A node of the DAG."""
        at = None if self.parent is None else self.at
        number, hash_ = self.last
        return {"timeline": self.name, "parent": self.parent, "at": at, "number": number, "hash": hash_}
