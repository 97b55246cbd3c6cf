"""The interface of every adapter: a door through which one session talks to an implementation under test.

The tree of the ways a call can end:

    DoorError
    ├── Refused          the bus answered with an error; `definite` says whether it certainly did not happen
    ├── Malformed        the answer does not have the shape that the protocol gives it
    └── Lost             no answer (EOF, time-out, kill, nonsense): it may or may not have happened; retire the door
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from busproof.bus.child import Child

NESTED_MAX = 512  # twice the reference's limit
# Values that a door lets in can be compared, copied and shown: three or four frames a level, above those of a test run.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 8 * NESTED_MAX))


class DoorError(Exception):
    """A call through the door did not end in a result."""


class Refused(DoorError):
    """The bus said no. `code` is the seed's name, if it has one; `rpc` is the JSON-RPC number."""

    def __init__(self, code: str, message: str, *, definite: bool, rpc: int = -32000) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.definite, self.rpc = code, message, definite, rpc


class Malformed(DoorError):
    """The request, the answer that the protocol expects, and the actual one."""

    def __init__(self, method: str, page: str, params: Any, faults: str, reply: Any) -> None:
        super().__init__(
            f"the answer to {method} is not what {page} describes: {faults};"
            f" sent {ascii(params)[:300]}, got {ascii(reply)[:300]}"
        )


class Lost(DoorError):
    """Nobody knows whether it happened."""


HOW_LONG = "BUSPROOF_PATIENCE=10 waits ten times as long"


def parsed(line: bytes) -> Any:
    """A line of JSON. ValueError for anything else: NaN is none, and no answer is nested deeper than NESTED_MAX."""
    try:
        value = json.loads(line, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if line.count(b"[") + line.count(b"{") > NESTED_MAX and _is_deep(value):
        raise ValueError("nested too deep")
    return value


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(NESTED_MAX + 1):
        level = [member for outer in level for member in _members(outer)]
    return bool(level)


def _members(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def patient(seconds: float) -> float:
    """The time for a bus to answer, by BUSPROOF_PATIENCE: 1 is usual, 10 for a bus that is ten times slower."""
    text = os.environ.get("BUSPROOF_PATIENCE", "1")
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor < 1e6:
        raise DoorError(f"BUSPROOF_PATIENCE is {text!a}, and must be a number above 0: 10 for a bus that is slow")
    return seconds * factor


class Spawn(Protocol):
    """Starts a process: a plain one, one that carries a mark, one under supervision."""

    def __call__(self, argv: Sequence[str], /, *, env: Mapping[str, str] | None = None) -> Child:
        """The process."""
        ...


class Door(Protocol):
    """One session. `call` raises Refused or Lost."""

    @property
    def store(self) -> Path | None:
        """The folder of the open store, if it can be told."""
        ...

    @property
    def serves_many(self) -> bool:
        """Can it serve several stores, one after the other?"""
        ...

    @property
    def pid(self) -> int | None:
        """The process id, and process group, of a session that is a process of its own."""
        ...

    @property
    def stderr(self) -> str:
        """The last lines that the session wrote for humans."""
        ...

    def get_ready(self, system: str) -> None:
        """Do all that can be done before there is a store: say hello, start a server."""
        ...

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """One request, one result, both within the time."""
        ...

    def processes(self) -> list[Path]:
        """The folders in /proc of all processes that work for it."""
        ...

    def kill(self) -> None:
        """End the session at once, as SIGKILL would. Idempotent."""
        ...

    def close(self) -> None:
        """End the session politely. Idempotent."""
        ...
