"""Routing keys: a closed set of frozen types. Keys that differ in any dimension are different.

    Invoke   → Complete          a harness submits, an agent's runtime answers
    Request  → Response          an agent calls a service
    Delegate → DelegateReply     an agent hands a sub-task to another; the nonce of the message tells several apart (T9)
    Fork                         a new branch; its timeline is the new one

A reply has no reply. The order of a type's fields is the order of the tokens in its subject:
`vlinder.{timeline}.{submission}.{type}.{…the rest}`. Dataclasses, not named tuples: those of two types with the same
fields would be equal.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from refbus.kernel.errors import InvalidArgument
from refbus.timeline import token

ROOT = "vlinder"


@dataclass(frozen=True, slots=True)
class Invoke:
    """User input to an agent."""

    timeline: str
    submission: str
    harness: str
    runtime: str
    agent: str


@dataclass(frozen=True, slots=True)
class Complete:
    """An agent's result to its harness."""

    timeline: str
    submission: str
    agent: str
    harness: str


@dataclass(frozen=True, slots=True)
class Request:
    """An agent's call of a service."""

    timeline: str
    submission: str
    agent: str
    service: str
    backend: str
    operation: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Response:
    """A service's answer to an agent."""

    timeline: str
    submission: str
    service: str
    backend: str
    agent: str
    operation: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Delegate:
    """A sub-task from one agent to another."""

    timeline: str
    submission: str
    caller: str
    target: str


@dataclass(frozen=True, slots=True)
class DelegateReply:
    """The result of a sub-task."""

    timeline: str
    submission: str
    caller: str
    target: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Fork:
    """A new branch of the DAG."""

    timeline: str
    submission: str
    agent_name: str


Key = Invoke | Complete | Request | Response | Delegate | DelegateReply | Fork
Kind = (
    type[Invoke] | type[Complete] | type[Request] | type[Response] | type[Delegate] | type[DelegateReply] | type[Fork]
)

# The type's name in a key, and its token in a subject.
NAMES: dict[Kind, str] = {
    Invoke: "invoke",
    Complete: "complete",
    Request: "request",
    Response: "response",
    Delegate: "delegate",
    DelegateReply: "delegate-reply",
    Fork: "fork",
}
TOKENS: dict[Kind, str] = {**NAMES, Request: "req", Response: "res"}
# The names of a type's dimensions, in the order of the subject.
DIMENSIONS = {kind: tuple(field.name for field in dataclasses.fields(kind)) for kind in NAMES}
KINDS = {name: kind for kind, name in NAMES.items()}
_KIND_OF_TOKEN = {written: kind for kind, written in TOKENS.items()}


def reply_key(key: Key, nonce: str | None = None) -> Key:
    """Where the answer to a request goes. Raises INVALID_ARGUMENT for a reply, a fork, and a nonce out of place."""
    check_nonce(key, nonce)
    match key:
        case Invoke(timeline, submission, harness, _, agent):
            return Complete(timeline, submission, agent, harness)
        case Request(timeline, submission, agent, service, backend, operation, sequence):
            return Response(timeline, submission, service, backend, agent, operation, sequence)
        case Delegate(timeline, submission, caller, target):
            return DelegateReply(timeline, submission, caller, target, nonce or "")
    raise InvalidArgument(f"a {NAMES[type(key)]} has no reply")


def check_nonce(key: Key, nonce: object) -> None:
    """A delegation has a nonce, and nothing else has."""
    if isinstance(key, Delegate):
        token.name("nonce", nonce)
    elif nonce is not None:
        raise InvalidArgument(f"a {NAMES[type(key)]} takes no nonce")


def subject(key: Key) -> str:
    """The key as NATS knows it."""
    timeline, submission, *rest = (value_token(getattr(key, name)) for name in DIMENSIONS[type(key)])
    return ".".join((ROOT, timeline, submission, TOKENS[type(key)], *rest))


def parse(text: object) -> Key:
    """The key of a subject. Raises INVALID_ARGUMENT for a text that is no key's."""
    parts = text.split(".") if isinstance(text, str) else []
    kind = _KIND_OF_TOKEN.get(parts[3]) if len(parts) > 3 and parts[0] == ROOT else None
    if kind is None or len(parts) != 2 + len(DIMENSIONS[kind]):
        raise InvalidArgument(f"no subject of a message: {text!a:.200}")
    values = [*parts[1:3], *parts[4:]]
    return kind(*(token_value(name, value) for name, value in zip(DIMENSIONS[kind], values, strict=True)))


def from_dict(value: object) -> Key:
    """A key from an object with its type and each of its dimensions."""
    kind, dimensions = kind_of(value)
    names = DIMENSIONS[kind]
    if dimensions.keys() != set(names):
        raise InvalidArgument(f"a key of type {NAMES[kind]} has {', '.join(names)}, and nothing else")
    return of(kind, *(dimensions[name] for name in names))


def of(kind: Kind, *values: object) -> Key:
    """A key of these values, in the order of its dimensions. Raises INVALID_ARGUMENT for one that cannot be."""
    return kind(*(checked(name, value) for name, value in zip(DIMENSIONS[kind], values, strict=True)))


def as_dict(key: Key) -> dict[str, Any]:
    """The key as an object."""
    return {"type": NAMES[type(key)], **{name: getattr(key, name) for name in DIMENSIONS[type(key)]}}


def kind_of(value: object) -> tuple[Kind, dict[str, Any]]:
    """The type that an object names, and the rest of it."""
    if type(value) is not dict:
        raise InvalidArgument("a key is an object with a type")
    dimensions = dict(value)
    name = dimensions.pop("type", None)
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidArgument(f"type must be one of {', '.join(KINDS)}, not {name!a:.40}")
    return kind, dimensions


def checked(dimension: str, value: object) -> Any:
    """A value that the dimension can have."""
    return token.sequence(dimension, value) if dimension == "sequence" else token.name(dimension, value)


def value_token(value: str | int) -> str:
    """A dimension's value as a token."""
    return str(value) if isinstance(value, int) else token.encode(value)


def token_value(dimension: str, written: str) -> Any:
    """And back."""
    return token.decode_sequence(written) if dimension == "sequence" else token.decode(written)
