"""The base of all systems: numbers, base models, and the methods that bind a session to a store."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from busproof.contract.bounds import Bound

T0_MS = 1_768_053_600_000  # where every script's clock starts: 2026-01-10T14:00:00Z, the seed's own example

PROTOCOL_VERSION = "1"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
BUS_ERROR = -32000

_BUILDING = threading.Lock()

Noun = Literal[
    "log", "cursor", "lease", "presence", "blob", "route", "retry", "limit", "search", "export", "fork", "jobs"
]


class Params(BaseModel):
    """Data that the kit sends. A strict IUT refuses fields beyond these."""

    model_config = ConfigDict(extra="forbid", defer_build=True)  # a process needs only a few of hundreds of models


class Reply(BaseModel):
    """Data that the IUT answers. Fields beyond these are allowed and ignored."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    @classmethod
    def of(cls, answer: Any) -> Self:
        """A bus's answer as a model, or pydantic's ValidationError. Threads may ask: only one of them builds it."""
        if not cls.__pydantic_complete__:
            with _BUILDING:
                cls.model_rebuild()
        return cls.model_validate(answer, strict=True)


class HelloParams(Params):
    """First call of a session."""

    protocol: list[str] = Field(default=[PROTOCOL_VERSION], description="versions that the kit speaks")
    system: str = Field(description="the system that will be judged")


class HelloReply(Reply):
    """The implementation's statement about itself; anything that it does not declare is not applicable."""

    protocol: str = Field(description="the version chosen from those offered")
    name: str
    version: str
    language: str
    systems: list[str]
    nouns: list[Noun] = Field(description="a noun declared here is judged whole")
    features: list[str] = Field(default=[], description="optional abilities, see Features")
    lacks: list[str] = Field(default=[], description="usual features that it does not have, see Features")
    clock: Literal["manual", "wall"] = Field(default="wall", description="manual: clock.set rules its time")
    durability: Literal["process-crash", "power-loss"] = "process-crash"
    limits: dict[str, int] = Field(default={}, description="inline_payload_bytes_max, payload_bytes_max, now_ms_max, …")


class OpenParams(Params):
    """Bind the session to a store. The folder exists; the IUT creates anything missing in it."""

    store: str = Field(description="absolute path of the folder that the agents share")
    options: dict[str, Any] = Field(
        default={}, description="of this bus; the kit sends those of the features that it declares"
    )


class Empty(Params):
    """No parameters."""


class Done(Reply):
    """Nothing to say."""


class ClockSet(Params):
    """Set the session's clock. It stands still until the next such call; before the first, the machine's time rules."""

    now_ms: int = Field(description="epoch milliseconds")


@dataclass(frozen=True)
class Method:
    """One row of the protocol."""

    name: str
    noun: Noun | None
    feature: str | None
    params: type[Params]
    reply: type[Reply]


def methods(*rows: tuple[str, Noun | None, str | None, type[Params], type[Reply]]) -> dict[str, Method]:
    return {row[0]: Method(*row) for row in rows}


SESSION_METHODS = methods(
    ("hello", None, None, HelloParams, HelloReply),
    ("open", None, None, OpenParams, Done),
    ("close", None, None, Empty, Done),
    ("clock.set", None, None, ClockSet, Done),
)


@dataclass(frozen=True)
class ToolServer:
    """How a program that speaks MCP is a bus of a system: the answer of `hello` is seen from outside."""

    store_variable: str  # of the environment: names its database
    environment: Mapping[str, str]  # switches off a judged server's acts of its own
    nouns: tuple[tuple[str, Noun], ...]  # tool → a noun that it is part of
    trial: tuple[str, Mapping[str, Any]]  # a call that makes the tables
    version: tuple[str, str]  # a tool, and the field of its reply with the package's version


@dataclass(frozen=True)
class Contract:
    """All promises of a system to the outside, as one value. Each system has a module of this package that ends in one.

    `columns` says for each method where the typed columns of a history are (`busproof.contract.history.Event`): a
    column has places, of which the first existing one counts, such as `reply.id` before `params.message.id`.
    """

    system: str
    methods: Mapping[str, Method]
    features: Mapping[str, str]  # name → its meaning
    error_codes: Mapping[str, bool]  # the bool is the reference's promise in `definite`
    profiles: Mapping[str, tuple[Noun, ...]]  # named sets of nouns that a bus may be held to
    trials: Mapping[str, Mapping[str, Any]]  # the calls of `doctor`, in this order: method → params
    store: PurePosixPath  # the database in the store's folder
    tables: str  # the seed's own statements that make them
    reference: str  # the module that is the reference's program
    scheme: str = "exec"  # the door that the reference has; other than exec: the seed's own, and no adapter is needed
    columns: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    callers: tuple[str, ...] = ()  # parameters that say who calls
    server: ToolServer | None = None  # if the seed's door is MCP
    participant: str = ""  # `module:class` of the kit's own session on such a store, loaded when it is asked for
    package: str = "busproof"  # its folder holds requirements/SYSTEM.toml and templates/SYSTEM/
    types: tuple[type[BaseModel], ...] = ()  # of values that no field of a method names
    options: Mapping[str, str] = field(default_factory=dict)  # of open, that the kit may send: name → its meaning
    bounds: tuple[Bound, ...] = ()  # of fields
    limits: Mapping[str, str] = field(default_factory=dict)  # of hello, that the kit reads: name → its meaning
    usual: Mapping[str, Noun] = field(default_factory=dict)  # features that come with a noun, unless `hello.lacks` them
    busy: str = "BUSY"  # the seed's name for a lock that was not let go

    @functools.cached_property
    def bound_of(self) -> Mapping[str, Bound]:
        """The bound of each field, by the field's name, or METHOD.NAME."""
        return {name: bound for bound in self.bounds for name in bound.fields.split()}

    def bounds_of(self, method: str) -> dict[str, Bound]:
        """The bounds of a method's parameters, by the parameters' names."""
        names = {name: (f"{method}.{name}", name) for name in self.methods[method].params.model_fields}
        return {
            name: self.bound_of[place] for name, both in names.items() for place in both[::-1] if place in self.bound_of
        }

    def completed(self, hello: HelloReply) -> HelloReply:
        """What a bus says of itself, with the usual features among those that it declares."""
        decided = {*hello.lacks, *hello.features}
        usual = [name for name, noun in self.usual.items() if noun in hello.nouns and name not in decided]
        return hello.model_copy(update={"features": [*hello.features, *usual]})

    @property
    def table_names(self) -> set[str]:
        """The names of the seed's tables."""
        return set(re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", self.tables))

    def page_of(self, method: str) -> str:
        """Where a method is documented."""
        place = "docs/protocol.md" if method in SESSION_METHODS else f"docs/protocol/{self.system}.md"
        return f"{place}#{method.replace('.', '')}"

    def callers_of(self, method: str) -> list[str]:
        """Parameters of this method that say who calls."""
        known = self.methods.get(method)
        return [name for name in self.callers if known and name in known.params.model_fields]
