"""The record of `timeline`: numbered messages, each chained to the one before it by its hash."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any

from busproof.models.spec import Cited, Fits, Json
from busproof.models.timeline_keys import token

START = "0" * 64
DEPTH_MAX = 256
FIELD_SHOWN = 120  # characters


def text_of(value: Any) -> str:
    """The JSON text that is recorded: ASCII, a blank after comma and colon."""
    return json.dumps(value)


def canonical(value: Any) -> str:
    """The same text for the same value, whatever the order of its members."""
    return json.dumps(value, sort_keys=True)


def is_json(value: Any, depth: int = 0) -> bool:
    """Can it be written as JSON that any reader takes?"""
    if isinstance(value, dict | list):
        members = [*value, *value.values()] if isinstance(value, dict) else value
        return depth < DEPTH_MAX and all(is_json(one, depth + 1) for one in members)
    if isinstance(value, str):
        return not any("\ud800" <= char <= "\udfff" for char in value)
    return not isinstance(value, float) or math.isfinite(value)


@dataclass(eq=False)
class Message:
    """One of the record."""

    key: dict[str, Any]
    subject: str
    number: int
    nonce: str | None
    state: str | None
    payload: str
    time_us: int
    previous: str

    def __post_init__(self) -> None:
        """The hash: over the hash before and every field, each with its length in front."""
        nonce = "" if self.nonce is None else token(self.nonce)
        self.fields = (
            self.previous,
            str(self.number),
            self.subject,
            nonce,
            self.state or "",
            self.payload,
            str(self.time_us),
        )
        parts = [text.encode() for text in self.fields]
        self.hash = hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()

    @property
    def hash_told(self) -> Fits:
        """The hash, and for whoever got another one what it is of."""
        fields = [text if len(text) <= FIELD_SHOWN else f"{text[:FIELD_SHOWN]} …" for text in self.fields]
        return Fits(f"{self.hash}, the hash of {fields}", lambda told: bool(told == self.hash))

    @property
    def content(self) -> tuple[str, str | None]:
        """What makes it the same again, beside its key and nonce."""
        return self.payload, self.state

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
            "payload": Cited(self.value, ("timeline.log.10",)),
            "nonce": Cited(self.nonce, ("timeline.route.28",)),
            "state": Cited(self.state, ("timeline.log.26",)),
            "time_us": Cited(self.time_us, ("timeline.log.30",)),
            "previous": Cited(self.previous, ("timeline.log.17",)),
            "hash": Cited(self.hash_told, ("timeline.log.18", "timeline.log.19")),
            "status": "sent",
        }


@dataclass(eq=False)
class Timeline:
    """A lane of the record; a fork's begins at its parent's message `at`, after the hash that stands there."""

    name: str
    parent: str | None = None
    at: int = 0
    before: str = START
    messages: list[Message] = field(default_factory=list)

    @property
    def last(self) -> tuple[int, str]:
        """Number and hash of its end."""
        return (self.messages[-1].number, self.messages[-1].hash) if self.messages else (self.at, self.before)

    def append(
        self, key: dict[str, Any], subject: str, nonce: str | None, state: str | None, payload: str, time_us: int
    ) -> Message:
        """Behind the last."""
        number, previous = self.last
        message = Message(key, subject, number + 1, nonce, state, payload, time_us, previous)
        self.messages.append(message)
        return message

    def told(self) -> dict[str, Any]:
        """A node of the DAG."""
        at = None if self.parent is None else self.at
        number, hash_ = self.last
        return {"timeline": self.name, "parent": self.parent, "at": at, "number": number, "hash": hash_}
