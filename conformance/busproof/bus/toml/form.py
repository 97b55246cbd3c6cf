"""The form of a bus.toml, and its reader: a fault is told with its key and its line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from busproof.bus.toml import template
from busproof.bus.toml.answers import Match, Pattern, Take
from busproof.bus.toml.answers import Path as JmesPath
from busproof.contract.mailbox import CONTRACT

COMMON = ("agent", "store", "here", "pid", "port", "now", "now_ms", "now_s")
OF_METHOD = {  # the variables of each operation, beside those of every call
    "send": ("from", "to", "body", "key", "key_or_new", "thread", "reply_to", "priority", "base"),
    "receive": ("limit", "after", "wait_ms", "wait_s"),
    "unacked": (),
    "ack": ("id", "ids"),
    "claim": ("name", "ttl_ms", "ttl_s"),
    "renew": ("name", "token", "ttl_ms", "ttl_s"),
    "release": ("name", "token"),
    "put": ("queue", "body"),
    "take": ("queue", "visible_ms", "visible_s"),
    "done": ("queue", "id", "receipt"),
    "back": ("queue", "id", "receipt"),
    "dead": ("queue",),
}
SHOWN = ("id", "body", "from", "to", "n", "thread", "reply_to", "priority", "attempt", "receipt", "position")
SHOW = ("receive", "unacked", "take", "dead")  # operations that answer messages
PIDS = "pids"  # the member of a call in which a door gives the processes of agents that must be live ones
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class FormError(ValueError):
    """The file cannot be understood."""


class Part(BaseModel):
    """A table of the file. A key that is unknown is a fault."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Door(Part):
    """How the bus is reached. A bus may have several ways; each step says by its own keys which one it takes."""

    cli: list[str] | None = Field(default=None, description="a command line: each call is this and its `args`")
    mcp: list[str] | None = Field(default=None, description="the command of an MCP server over stdio")
    server: list[str] | None = Field(default=None, description="the command of an HTTP server; `$port` is a free port")
    http: str | None = Field(default=None, description="the address of a JSON API, on the loopback")
    mcp_url: str | None = Field(default=None, description="the address of an MCP server (streamable HTTP)")
    per: Literal["agent", "store", "name"] = Field(
        default="agent", description="an `mcp` server for each agent in a process, for all agents, or for each agent"
    )
    ready: str | None = Field(default=None, description="a path that the HTTP server answers once it is ready")
    start_s: float = Field(default=30, description="how long a server may take to start")
    pause_s: float = Field(default=0, description="a pause after its start, for a server that needs one")

    @model_validator(mode="after")
    def _is_whole(self) -> Door:
        if not (self.cli or self.mcp or self.http or self.mcp_url):
            raise ValueError("one of cli, mcp, http and mcp_url must say how the bus is reached")
        for url in filter(None, (self.http, self.mcp_url)):
            if urlsplit(url.replace("$port", "1")).hostname not in LOOPBACK:
                raise ValueError(f"{url!r} is not on the loopback (127.0.0.1)")
            if not self.server:
                raise ValueError("an address needs `server`, the command that serves it")
        if self.is_shared and "agent" in template.names([self.mcp if self.per == "store" else [], self.server or []]):
            raise ValueError("a server that all agents share has no $agent")
        return self

    @property
    def is_shared(self) -> bool:
        """Are there servers that the processes of a store share?"""
        return bool(self.server) or bool(self.mcp and self.per != "agent")


class Names(Part):
    """What the agents are called on the bus."""

    pattern: str = Field(default="{name}", description="`{name}` is the kit's name, `{n}` a number from 1")
    address: str | None = Field(default=None, description="the saved variable by which others write to an agent")
    everyone: str | None = Field(default=None, description="what `$to` is in a broadcast")
    needs_pid: bool = Field(default=False, description="an agent is a live process: `$pid`")


class Step(Part):
    """One call of the bus: a tool, a request, or else a command line."""

    tool: str | None = Field(default=None, description="of the MCP server")
    call: str | None = Field(default=None, pattern="^(GET|POST|PUT|PATCH|DELETE) /", description="METHOD /path")
    args: Any = Field(default=None, description="a table for a tool or a request, a list for a command line")
    stdin: Any = Field(default=None, description="what the command line reads on its stdin")
    statuses: list[int] = Field(default=[], description="exit statuses that are no refusal, beside 0")
    headers: dict[str, str] = Field(default={}, description="of the request")
    parse: Literal["json", "lines", "text"] = Field(
        default="json", description="the form of an answer; lines: a JSON value in each line; text: never JSON"
    )
    refused: JmesPath | None = Field(default=None, description="true on an answer that is a refusal")
    save: dict[str, Take] = Field(default={}, description="variables of this agent, from the answer")
    once: bool = Field(
        default=False,
        description="of a session: only the first time in the life of a store; before: for each recipient",
    )
    timeout_s: float = Field(default=20, description="how long an answer may take")

    @model_validator(mode="after")
    def _is_one(self) -> Step:
        if self.tool and self.call:
            raise ValueError("a step has a tool or a call, not both")
        wanted = dict if self.tool or self.call else list
        if self.args is not None and not isinstance(self.args, wanted):
            raise ValueError(f"args must be a {'table' if wanted is dict else 'list'} here")
        if not (self.tool or self.call) and self.args is None:
            raise ValueError("a step has `tool`, `call` or a list of `args`")
        return self

    def templates(self) -> Iterator[tuple[str, Any]]:
        """Its templates, by their key."""
        yield from (("call", self.call or ""), ("args", self.args), ("stdin", self.stdin), ("headers", self.headers))


class Again(Part):
    """When a call is made again."""

    when: Pattern | None = Field(default=None, description="a pattern in the text of a refusal")
    while_: JmesPath | None = Field(default=None, alias="while", description="true on an answer that has another page")
    times: int = Field(default=20, ge=1, description="at most")
    pause_s: float = Field(default=0, ge=0)


class Operation(Step):
    """A step that is an operation of `mailbox`, and where its answer has what the kit asks for."""

    id: Literal["$key_or_new"] | Take = Field(
        default="id", description="send, put: the id of the message; of a send it may be $key_or_new"
    )
    n: Take | None = Field(default=None, description="send: its number")
    rows: Take = Field(default="@", alias="list", description="the messages in the answer; take: the job")
    message: dict[str, Take] = Field(default={}, description="what a message has: id, body, from, to, n, …")
    each: Step | None = Field(
        default=None, description="a step for each row of a list of headings: `message` of the row"
    )
    position: Literal["$now"] | Take | None = Field(
        default=None, description="receive: the position that the client holds; may be $now"
    )
    base: Take | None = Field(default=None, description="receive: the base of the next send")
    granted: Take | None = Field(default=None, description="claim, renew, release: true if granted")
    token: Take | None = Field(default=None, description="claim: the fencing token")
    before: list[Step] = Field(default=[], description="steps before each call")
    again: Again | None = None

    @property
    def is_many(self) -> bool:
        """May it be any number of calls of the bus?"""
        return bool(self.each or self.again)

    def templates(self) -> Iterator[tuple[str, Any]]:
        """And the path of its list, where a variable stands in a raw text: `rows[?to=='$me']`."""
        yield from super().templates()
        yield "list", self.rows

    @model_validator(mode="after")
    def _shows_what_is_known(self) -> Operation:
        if isinstance(self.rows, Match) and not self.message:
            self.message = {name: name for name in re.compile(self.rows.match).groupindex}
        if unknown := sorted(set(self.message) - set(SHOWN)):
            raise ValueError(f"message has {', '.join(unknown)}; known are {', '.join(SHOWN)}")
        return self


class Failure(Part):
    """What a refusal of the bus means."""

    match: Pattern = Field(description="a pattern in its text")
    code: str = Field(default="REFUSED", description="one of the contract's, such as MAILBOX_FULL")
    definite: bool = Field(default=True, description="false: it may have happened")


class Way(Part):
    """A door and the operations through it."""

    door: Door
    session: list[Step] = Field(default=[], description="steps when an agent's session begins")
    send: Operation | None = None
    receive: Operation | None = None
    unacked: Operation | None = None
    ack: Operation | None = None
    claim: Operation | None = None
    renew: Operation | None = None
    release: Operation | None = None
    put: Operation | None = None
    take: Operation | None = None
    done: Operation | None = None
    back: Operation | None = None
    dead: Operation | None = None

    @property
    def operations(self) -> dict[str, Operation]:
        """Those that the file has, by name."""
        return {name: mapped for name in OF_METHOD if (mapped := getattr(self, name)) is not None}

    def steps(self) -> Iterator[tuple[str, Step]]:
        """All steps, by their place in the file."""
        yield from ((f"session.{number}", step) for number, step in enumerate(self.session))
        for name, operation in self.operations.items():
            yield name, operation
            yield from ((f"{name}.before.{number}", step) for number, step in enumerate(operation.before))
            yield from ((f"{name}.each", step) for step in (operation.each,) if step)


class Form(Way):
    """The whole file."""

    name: str = Field(description="the bus and its version")
    env: dict[str, str] = Field(default={}, description="the environment of its programs")
    names: Names = Names()
    prepare: list[Step] = Field(default=[], description="steps when a store is new")
    errors: list[Failure] = Field(default=[], description="what refusals mean; the first that matches counts")
    promises: dict[str, Any] = Field(default={}, description="features, limits and durability that the bus declares")
    also: Way | None = Field(default=None, description="a second way to the same store, for every other process")

    @model_validator(mode="after")
    def _is_true(self) -> Form:
        if self.send is None or self.receive is None:
            raise ValueError("[send] and [receive] are needed")
        for name in SHOW:
            if (operation := self.operations.get(name)) and not {"id", "body"} <= operation.message.keys():
                carried = (
                    "of a bus that tells no id, send $key_or_new in a member that it shows again, and name that as id"
                )
                raise ValueError(f"{name}.message must say where `id` and `body` of a message are; {carried}")
        if self.also and (more := self.also.operations.keys() - self.operations.keys()):
            raise ValueError(f"also.{min(more)} is not mapped by the first way")
        known = {*CONTRACT.features, *CONTRACT.limits, "durability"}
        if unknown := sorted(set(self.promises) - known):
            raise ValueError(f"promises has {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        for prefix, way in (("", self), ("also.", self.also)):
            for place, step in way.steps() if way else ():
                self._check_step(prefix + place, step, way)  # type: ignore[arg-type]
        for number, step in enumerate(self.prepare):
            self._check_step(f"prepare.{number}", step, self)
        return self

    def saved(self) -> set[str]:
        """The variables that steps save."""
        ways = [self, self.also] if self.also else [self]
        return {name for way in ways for _, step in way.steps() for name in step.save}

    def _check_step(self, place: str, step: Step, way: Way) -> None:
        door = way.door
        if step.tool and not (door.mcp or door.mcp_url):
            raise ValueError(f"{place}.tool needs an MCP server: door.mcp or door.mcp_url")
        if step.call and not door.http:
            raise ValueError(f"{place}.call needs an address: door.http")
        if not step.tool and not step.call and not door.cli:
            raise ValueError(f"{place}.args is a command line and needs its program: door.cli")
        method = next((part for part in place.split(".") if part in OF_METHOD), "")
        known = {*COMMON, *OF_METHOD.get(method, ()), *self.saved(), *(("id",) if place.endswith(".each") else ())}
        for key, text in step.templates():
            for name in template.names(text):
                if name not in known:
                    raise ValueError(f"{place}.{key}: ${name} is no variable here; there are {_dollars(known)}")


def load(path: Path) -> Form:
    """Read a file. Raises FormError."""
    try:
        text = path.read_text(encoding="utf-8")
        return Form.model_validate(tomllib.loads(text))
    except (OSError, UnicodeDecodeError) as error:
        raise FormError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    except tomllib.TOMLDecodeError as error:
        raise FormError(f"{path}: no TOML: {error}") from error
    except ValidationError as error:
        faults = {_keys(fault["loc"]): _told(text, fault["loc"], fault["msg"]) for fault in reversed(error.errors())}
        raise FormError(f"{path}: {'; '.join(reversed(faults.values()))}") from error


def declared(form: Form) -> dict[str, Any]:
    """The answer of hello. An operation that is mapped declares its noun and its feature."""
    mapped = {*form.operations, *(form.also.operations if form.also else ())}
    methods = [method for name, method in CONTRACT.methods.items() if name in mapped]
    own = {method.feature for method in methods if method.feature}
    features = [name for name in CONTRACT.features if form.promises.get(name, name in own)]
    limits = {name: form.promises[name] for name in CONTRACT.limits if name in form.promises}
    version = re.search(r"\s+v?(\d[\w.+-]*)(?=$|\s+\()", form.name)  # a remark may stand behind, in parentheses
    # Where reading takes, what is beyond a limit that the bus was never told cannot be left for later.
    takes_all = "consumes" in features and not any(
        "limit" in template.names(text)
        for way in filter(None, (form, form.also))
        for place, step in way.steps()
        if place.partition(".")[0] == "receive"
        for _, text in step.templates()
    )
    is_in_memory = form.promises.get("durability") == "none"
    lacks = [*(["limit"] if takes_all else []), *(["restarts"] if is_in_memory else [])]
    return {
        "protocol": "1",
        "name": form.name[: version.start()] + form.name[version.end() :] if version else form.name,
        "version": version[1] if version else "?",
        "language": "toml",
        "systems": [CONTRACT.system],
        "nouns": list(dict.fromkeys(method.noun for method in methods if method.noun)),
        "features": [name for name in features if name not in CONTRACT.usual],
        "lacks": [name for name in CONTRACT.usual if name in lacks or form.promises.get(name) is False],
        "clock": "wall",
        "durability": "process-crash" if is_in_memory else form.promises.get("durability", "process-crash"),
        "limits": limits,
    }


def program(argv: list[str], here: Path) -> list[str]:
    """A command whose program is found from the folder of the file, if its name has a slash."""
    first = os.path.expanduser(argv[0])
    return [str(here / first) if "/" in first and not os.path.isabs(first) else first, *argv[1:]]


def _told(text: str, place: tuple[int | str, ...], message: str) -> str:
    message = message.removeprefix("Value error, ")
    keys = _keys(place)
    inner = re.match(r"[a-z_0-9]+(\.[a-z_0-9]+)*", message)  # our own checks name what is in the part
    name = f"{'.'.join(keys)}: " if keys else ""
    return f"line {_line_of(text, [*keys, *(inner[0].split('.') if inner else [])])}: {name}{message}"


def _keys(place: tuple[int | str, ...]) -> tuple[str, ...]:
    """The place without the names of pydantic's own choices."""
    return tuple(str(part) for part in place if not re.match(r"function-|literal|Match$", str(part)))


def _line_of(text: str, keys: list[str]) -> int:
    """The line of a key, or of the table that holds it."""
    lines, best, table = text.splitlines(), 1, list[str]()
    wanted = [key for key in keys if not key.isdigit()]
    for number, line in enumerate(lines, 1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            table = header[1].split(".")
        elif (key := re.match(r"\s*([\w-]+)\s*=", line)) and [*table, key[1]] == wanted[: len(table) + 1]:
            return number
        if table and table == wanted[: len(table)] and line.lstrip().startswith("["):
            best = number
    return best


def _dollars(names: Mapping[str, Any] | set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))
