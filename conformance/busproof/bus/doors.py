"""The doors, by the scheme of a --bus. A new one is an entry here, and a module beside this one."""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass

from busproof.bus.base import Door, Spawn
from busproof.bus.child import Child


class BusSpecError(ValueError):
    """The --bus argument cannot be understood or started."""


def _exec(argv: list[str], spawn: Spawn) -> Door:
    from busproof.bus.stdio import StdioDoor

    return StdioDoor(argv, spawn)


def _toml(argv: list[str], spawn: Spawn) -> Door:
    from busproof.bus.toml.door import TomlDoor

    return TomlDoor(argv, spawn)


def _mcp(argv: list[str], spawn: Spawn) -> Door:
    from busproof.bus.mcp import McpDoor

    return McpDoor(argv, spawn)


def _py(words: list[str], _spawn: Spawn) -> Door:
    from busproof.bus.python import PythonDoor

    module, _, factory = words[0].partition(":")
    return PythonDoor(getattr(importlib.import_module(module), factory or "factory")())


def _nats(words: list[str], spawn: Spawn) -> Door:
    from busproof.bus.nats import NatsDoor

    return NatsDoor(open_door(words[0], spawn))


def _faketime(words: list[str], spawn: Spawn) -> Door:
    from busproof.bus.faketime import FaketimeMcpDoor, FaketimeStdioDoor

    scheme = words[0].partition(":")[0]
    argv = command_of(words[0])
    if scheme not in ("exec", "mcp") or not argv:
        raise BusSpecError(f"'faketime:{words[0]}': after faketime: comes exec:CMD… or mcp:CMD…, a program of yours")
    return FaketimeStdioDoor(argv, spawn) if scheme == "exec" else FaketimeMcpDoor(argv, spawn)


def _sqlite(_words: list[str], _spawn: Spawn) -> Door:
    from busproof.bus.sqlite import SqliteDoor

    return SqliteDoor()


def _files(argv: list[str], spawn: Spawn) -> Door:
    from busproof.bus.files import FilesDoor

    return FilesDoor(argv, spawn)


@dataclass(frozen=True)
class Scheme:
    """The part of a --bus before the colon."""

    takes: str  # the part after it, in the words of help and errors
    says: str
    make: Callable[[list[str], Spawn], Door]  # the words after the colon, and how a process is started
    is_process: bool = False  # the words are a command: it can be killed, and supervised
    no_adapter: str = ""  # the kind of bus that is judged as it is, if this is the system's own door


SCHEMES = {
    "exec": Scheme(
        "CMD…", "a program that speaks the protocol on stdin and stdout (docs/protocol.md)", _exec, is_process=True
    ),
    "toml": Scheme(
        "FILE",
        "a bus that a bus.toml maps to an MCP server, a command line or a JSON API (system mailbox)",
        _toml,
        is_process=True,
    ),
    "mcp": Scheme(
        "CMD…",
        "an MCP server over stdio that has the ten tools of topics; any other: toml:FILE",
        _mcp,
        is_process=True,
        no_adapter="an MCP server over stdio with the tools of topics",
    ),
    "files": Scheme(
        "CMD…",
        "an orchestrator of relay that runs by itself on the folder AGENT_RELAY_DIR, with or without a ledger.db"
        " (files:DIR: doctor reads a folder)",
        _files,
        is_process=True,
    ),
    "nats": Scheme("exec:CMD…", "the same bus on a NATS JetStream that the kit starts (system timeline)", _nats),
    "faketime": Scheme(
        "exec:CMD…",
        "the same program (or mcp:CMD…) with a clock that the kit sets from outside (extra faketime)",
        _faketime,
    ),
    "py": Scheme("module:factory", "a Python object whose methods are the protocol's", _py),
    "sqlite": Scheme(
        "PATH",
        "an existing bus.db, messages.db, timeline.db or agent_bus.sqlite, or its folder (doctor reads a copy)",
        _sqlite,
    ),
}


def command_of(spec: str) -> list[str]:
    """The command of a bus that is a process; empty for any other."""
    scheme, _, rest = spec.partition(":")
    if scheme not in SCHEMES or not SCHEMES[scheme].is_process:
        return []
    command = shlex.split(rest)
    if scheme == "toml" and command:
        return [sys.executable, "-m", "busproof.bus.toml.adapter", os.path.expanduser(command[0])]
    return [os.path.expanduser(command[0]), *command[1:]] if command else []


def open_door(spec: str, spawn: Spawn = Child) -> Door:
    """Start one session on a bus. Raises BusSpecError if that is impossible."""
    scheme, colon, rest = spec.partition(":")
    if scheme not in SCHEMES or not colon:
        known = ", ".join(f"{name}:{scheme.takes}" for name, scheme in SCHEMES.items())
        raise BusSpecError(f"{spec!r}: a bus is one of {known}")
    words = command_of(spec) if SCHEMES[scheme].is_process else [rest]
    if not words:
        raise BusSpecError(f"{spec!r}: no command after {scheme}:")
    try:
        return SCHEMES[scheme].make(words, spawn)
    except OSError as error:
        raise BusSpecError(f"{spec!r}: cannot start: {error}") from error
