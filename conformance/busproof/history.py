"""Histories: the log of a run, Jepsen style, and the only thing that checks read.

A history is JSON Lines. The first line is the header (`type: "header"`, the plan and the hello of each process in
`value`), the last the footer (`type: "footer"`, the number of lines before it, and of those how many are state, in
`value`); a history without its footer was cut and its verdict cannot be `valid`. Between them stand events. The kit
records on its own clocks, at send (`invoke`) and at receive (`ok`, `fail`, `info`); adapters record nothing.

An answer that is a whole state (`STATE_OPS`) would make one line of any length: its lists are written as lines of
type `state` right after it, one row a line, `key` naming the list; the answer keeps the number of rows of each.

`fail` is definite: it certainly did not happen. `info` may or may not have happened, then or at any later moment,
and its process is retired.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, Literal

from pydantic import BaseModel, ConfigDict

from busproof.protocol import Contract
from busproof.words import reason

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

EventType = Literal["header", "invoke", "ok", "fail", "info", "state", "nemesis", "footer"]
STATE_OPS = ("dump", "read_export")
MALFORMED = "MALFORMED"  # the code of an answer that is not what the protocol says


class Event(BaseModel):
    """One line of a history. The Spark schema is derived from these fields; `value` travels as JSON text."""

    model_config = ConfigDict(extra="ignore")

    index: int  # position in the merged history; rises by one
    run: str
    system: str
    process: int  # one session; a respawned session has a new number
    type: EventType
    op: str | None = None  # protocol method
    agent: str | None = None  # agent_id
    key: str | None = None  # what the call is about: a message id, a task_id, a worker, a blob ref
    seq: int | None = None  # publish: the seq given; ack: the seq acknowledged
    token: int | None = None  # fencing token granted or shown
    granted: bool | None = None  # claim, renew, release: what the bus answered
    lease_until_ms: int | None = None
    bus_ms: int | None = None  # the session's clock as last set by the kit; null: wall clock
    wall_ms: int  # kit's wall clock
    mono_ns: int  # kit's monotonic clock, comparable between processes of one machine
    code: str | None = None  # error code
    value: Any = None  # params of an invoke, reply of an ok, error of a fail or info


class HistoryError(ValueError):
    """The file is no history; names the line."""


def typed_columns(contract: Contract, op: str, params: dict[str, Any], reply: dict[str, Any] | None) -> dict[str, Any]:
    """The columns that checks need, taken from the places in a call that its system's contract names."""
    call = {"params": params, "reply": reply or {}}
    places = {"agent": tuple(f"params.{name}" for name in contract.callers), **contract.columns.get(op, {})}
    columns = {name: _first(call, paths) for name, paths in places.items()}
    if isinstance(columns.get("lease_until_ms"), str):
        columns["lease_until_ms"] = _epoch_ms(columns["lease_until_ms"])
    return {name: value for name, value in columns.items() if _fits(name, value)}


def _first(call: Any, paths: Iterable[str]) -> Any:
    """What stands at the first of these places that holds something."""
    for path in paths:
        found = call
        for step in path.split("."):
            found = found.get(step) if isinstance(found, dict) else None
        if found is not None and found != "":
            return found
    return None


_KINDS: dict[str, type] = {"agent": str, "key": str, "granted": bool}  # all others are integers


def _fits(name: str, value: Any) -> bool:
    """Can the column hold it? Bad-input scripts send anything."""
    match value:
        case bool():
            return name == "granted"
        case str():
            return _KINDS.get(name) is str and _is_text(value)
        case int():
            return name not in _KINDS and -(2**63) <= value < 2**63
    return False


def _epoch_ms(text: Any) -> int | None:
    """Epoch milliseconds of an ISO 8601 time with its zone."""
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return None if at.tzinfo is None else (at - _EPOCH) // timedelta(milliseconds=1)


def _is_text(value: str) -> bool:
    """No half surrogates: a column must fit UTF-8, whatever a script sends."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


class Recorder:
    """Appends events to one file. Thread-safe; one file a recording process, merged by `merge`."""

    def __init__(self, path: Path, *, run: str, system: str, header: Any = None, fsync: bool = False) -> None:
        self.path, self.run, self.system, self.fsync = path, run, system, fsync
        self._lock = threading.Lock()
        self._next = self._states = 0
        self._file: IO[str] = path.open("w", encoding="utf-8")
        self.record("header", process=-1, value=header)

    @property
    def last(self) -> int:
        """The index of the last event."""
        return self._next - 1

    def record(self, type_: EventType, *, process: int, **columns: Any) -> int:
        """Write one event, with the rows of a state, and return its index."""
        value, rows = columns.get("value"), list[tuple[str, Any]]()
        if type_ == "ok" and columns.get("op") in STATE_OPS and isinstance(value, dict):
            columns["value"], rows = _taken_apart(value)
        with self._lock:
            index = self._next
            self._write(type_, process, columns)
            for key, row in rows:
                self._write("state", process, {"op": columns["op"], "key": key, "value": row})
            self._states += len(rows)
            self._file.flush()
            if self.fsync:
                os.fsync(self._file.fileno())
        return index

    def _write(self, type_: EventType, process: int, columns: dict[str, Any]) -> None:
        event = {
            "index": self._next,
            "run": self.run,
            "system": self.system,
            "process": process,
            "type": type_,
            "wall_ms": time.time_ns() // 1_000_000,
            "mono_ns": time.monotonic_ns(),
            **{name: value for name, value in columns.items() if value is not None},
        }
        self._next += 1
        self._file.write(json.dumps(event, ensure_ascii=True, separators=(",", ":")) + "\n")

    def close(self) -> None:
        """Write the footer. A history without one was cut."""
        self.record("footer", process=-1, value={"events": self._next, "states": self._states})
        self._file.close()


def _taken_apart(state: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """The state with the lengths of its lists in `rows`, and (list, row) of each row."""
    lists = {key: value for key, value in state.items() if isinstance(value, list)}
    rest = {key: value for key, value in state.items() if key not in lists}
    counts = {key: len(rows) for key, rows in lists.items()}
    return {**rest, "rows": counts}, [(key, row) for key, rows in lists.items() for row in rows]


@dataclass(frozen=True)
class Broken:
    """A line that is no event."""

    line: int  # from 1
    why: str
    is_last: bool  # cut off, as by a crash


def scan(path: Path) -> Iterator[Event | Broken]:
    """Stream a history line by line, header and footer included, whatever the lines hold."""
    with path.open(encoding="utf-8", errors="surrogateescape") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield _event(line)
            except ValueError as error:
                yield Broken(number, reason(error), is_last=not line.endswith("\n"))


def read(path: Path) -> Iterator[Event]:
    """Stream the events of a history. A torn last line is left out; any other line that is no event: HistoryError."""
    for line in scan(path):
        if isinstance(line, Event):
            yield line
        elif not line.is_last:
            raise HistoryError(f"{path}:{line.line}: not an event of a history: {line.why}")


def _event(line: str) -> Event:
    # Half surrogates, which bad-input scripts send, are text to json and not to pydantic.
    return Event.model_validate(json.loads(line)) if "\\ud" in line else Event.model_validate_json(line)


def merge(parts: Iterable[Path], into: Path) -> int:
    """Merge files recorded side by side, by monotonic clock, renumbering; returns the number of events.

    The clocks are of one machine, so the order of mono_ns is the order in which the kit saw things happen.
    """
    events: list[Event] = []
    header: Event | None = None
    whole, states = True, 0
    for part in parts:
        footer = False
        for event in read(part):
            if event.type == "header":
                header = header or event
            elif event.type == "footer":
                footer = True
            else:
                events.append(event)
                states += event.type == "state"
        whole = whole and footer
    if header is None:
        raise HistoryError("nothing to merge: no part has a header")
    events.sort(key=lambda event: (event.mono_ns, event.process))
    body = [header, *events]
    if whole:
        last = events[-1] if events else header
        told = {"type": "footer", "process": -1, "value": {"events": len(body), "states": states}}
        body.append(last.model_copy(update={**_BARE, **told}))
    with into.open("w", encoding="utf-8") as out:
        for index, event in enumerate(body):
            line = event.model_copy(update={"index": index}).model_dump(exclude_none=True)
            out.write(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n")
    return len(body)


_BARE = dict.fromkeys(("op", "agent", "key", "seq", "token", "granted", "lease_until_ms", "bus_ms", "code"))
