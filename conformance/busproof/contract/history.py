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

import gzip
import heapq
import itertools
import json
import os
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from busproof.contract import Contract
from busproof.words import is_text, reason

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_encode = json.JSONEncoder(separators=(",", ":")).encode

EventType = Literal["header", "invoke", "ok", "fail", "info", "state", "nemesis", "footer"]
STATE_OPS = ("dump", "read_export")
LINE_BYTES_MAX = 256 << 20  # four times an answer's
MALFORMED = "MALFORMED"  # the code of an answer that does not match the protocol


class Event(msgspec.Struct, kw_only=True, gc=False):
    """One line of a history. Other members of a line are left alone."""

    index: int  # position in the merged history; rises by one
    run: str
    system: str
    process: int  # one session; a respawned session has a new number
    type: EventType
    op: str | None = None  # protocol method
    agent: str | None = None  # agent_id
    host: str | None = None  # of a header: where all of its file was recorded
    key: str | None = None  # the subject of the call: a message id, a task_id, a worker, a blob ref
    seq: int | None = None  # publish: the seq given; ack: the seq acknowledged
    token: int | None = None  # fencing token granted or shown
    granted: bool | None = None  # claim, renew, release: the bus's answer
    lease_until_ms: int | None = None
    bus_ms: int | None = None  # the session's clock as last set by the kit; null: wall clock
    wall_ms: int  # kit's wall clock
    mono_ns: int  # kit's monotonic clock, comparable between processes of one host
    code: str | None = None  # error code
    value: Any = None  # params of an invoke, reply of an ok, error of a fail or info

    def told(self, *without: str) -> dict[str, Any]:
        """The content of its line."""
        columns = ((name, getattr(self, name)) for name in self.__struct_fields__ if name not in without)
        return {name: value for name, value in columns if value is not None}


class HistoryError(ValueError):
    """The file is no history; names the line."""


def typed_columns(contract: Contract, op: str, params: dict[str, Any], reply: dict[str, Any] | None) -> dict[str, Any]:
    """The columns that checks need, taken from the places in a call that its system's contract names."""
    call = {"params": params, "reply": reply or {}}
    places = {"agent": tuple(f"params.{name}" for name in contract.callers), **contract.columns.get(op, {})}
    columns = {name: _column(name, call, [path.split(".") for path in paths]) for name, paths in places.items()}
    return {name: value for name, value in columns.items() if value is not None}


Places = dict[str, list[list[str]]]  # column → the steps to each of its places in a value


def left_out(contract: Contract) -> dict[tuple[str, str], Places]:
    """By type and op of an event, the columns that its value can tell: an invoke's parameters, an ok's reply."""
    columns = {}
    for op in contract.methods:
        callers = tuple(f"params.{name}" for name in contract.callers) if contract.callers_of(op) else ()
        of_op = {"agent": callers, **contract.columns.get(op, {})}
        for type_, start in (("invoke", "params"), ("ok", "reply")):
            steps = {name: [path.split(".") for path in paths] for name, paths in of_op.items()}
            own = {name: [rest for first, *rest in places if first == start] for name, places in steps.items()}
            if has_any := {name: places for name, places in own.items() if places}:
                columns[type_, op] = has_any
    return columns


def fill(event: Event, places: Places) -> None:
    """Those of these columns that the event leaves out, or that hold what no text may hold, from its value."""
    for name in places:
        if getattr(event, name) is None:
            setattr(event, name, _column(name, event.value, places[name]))


def _column(name: str, call: Any, places: Iterable[Iterable[str]]) -> Any:
    """The value at the first of these places that holds something, if the column can hold it."""
    for steps in places:
        value = call
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        if value is not None and value != "":
            if name == "lease_until_ms" and isinstance(value, str):
                value = _epoch_ms(value)
            return value if _fits(name, value) else None
    return None


_KINDS: dict[str, type] = {"agent": str, "key": str, "granted": bool}  # all others are integers


def _fits(name: str, value: Any) -> bool:
    """Can the column hold it? Bad-input scripts send anything."""
    match value:
        case bool():
            return name == "granted"
        case str():
            return _KINDS.get(name) is str and is_text(value)
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
        self._file.write(_encode(event) + "\n")

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
    """Stream a history line by line, header and footer included, with any content."""
    with opened(path) as lines:
        yield from events_of(unpacked(lines))


def scan_range(path: Path, begin: int, end: int) -> Iterator[Event | Broken]:
    """The same, of a part of a file that is not packed, from byte to byte; both stand at the begin of a line."""
    with path.open("rb") as file:
        file.seek(begin)
        yield from events_of(_until(end - begin, unpacked(file)))


def _until(size: int, lines: Iterable[bytes | Exception]) -> Iterator[bytes | Exception]:
    """The lines of so many bytes."""
    for line in lines:
        size -= 0 if isinstance(line, Exception) else len(line)
        if size < 0:
            return
        yield line


def ranges(path: Path, size: int) -> list[tuple[int, int]]:
    """Cut a file into parts of about so many bytes, between lines."""
    whole, cuts = path.stat().st_size, [0]
    with path.open("rb") as file:
        while cuts[-1] < whole:
            file.seek(min(cuts[-1] + size, whole))
            file.readline(LINE_BYTES_MAX)
            cuts.append(file.tell())
    return list(itertools.pairwise(cuts))


def events_of(lines: Iterable[bytes | Exception]) -> Iterator[Event | Broken]:
    """What these lines are."""
    for number, line in enumerate(lines, 1):
        if isinstance(line, Exception):
            yield Broken(number, f"the packed file is cut or damaged here: {reason(line)}", is_last=False)
            return
        if len(line) > LINE_BYTES_MAX:
            yield Broken(number, f"a line is longer than {LINE_BYTES_MAX >> 20} MiB", is_last=False)
            return
        try:
            yield _decode(line)
        except (ValueError, RecursionError) as error:
            try:
                yield _odd(line)
            except (ValueError, RecursionError):
                yield Broken(number, reason(error), is_last=not line.endswith(b"\n"))


def unpacked(lines: IO[bytes]) -> Iterator[bytes | Exception]:
    """The lines, of one that is too long its beginning, and the error that ends them if they cannot be unpacked."""
    try:
        yield from iter(partial(lines.readline, LINE_BYTES_MAX + 1), b"")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield error
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # of one of two modules, which may both be missing
            raise
        yield error


def opened(path: Path) -> IO[bytes]:
    """The file, unpacked if its name ends in .gz or .zst. HistoryError if Python cannot unpack that."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if path.suffix != ".zst":
        return path.open("rb")
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            from backports import zstd
        except ImportError:
            raise HistoryError(f"{path}: this Python cannot unpack zstd; pip install backports.zstd") from None
    unpacked: IO[bytes] = zstd.open(path, "rb")
    return unpacked


def read(path: Path) -> Iterator[Event]:
    """Stream the events of a history. A torn last line is left out; any other line that is no event: HistoryError."""
    for line in scan(path):
        if isinstance(line, Event):
            yield line
        elif not line.is_last:
            raise HistoryError(f"{path}:{line.line}: not an event of a history: {line.why}")


_decode = msgspec.json.Decoder(Event).decode


def _odd(line: bytes) -> Event:
    """Half surrogates and NaN, which bad-input scripts send, are text and a number to json and not to msgspec."""
    event = msgspec.convert(json.loads(line.decode(errors="surrogateescape")), Event)
    for name in ("run", "op", "agent", "host", "key", "code"):
        if isinstance(column := getattr(event, name), str) and not is_text(column):
            setattr(event, name, json.dumps(column))  # as in facts
    return event


def merge(parts: Iterable[Path], into: Path) -> int:
    """Merge files recorded side by side, by monotonic clock, renumbering; returns the number of events."""
    return write(merged([read(part) for part in parts]), into)


def write(events: Iterable[Event], into: Path) -> int:
    """A history as a file; returns the number of events."""
    count = 0
    with into.open("w", encoding="utf-8") as out:
        for event in events:
            out.write(_encode(event.told()) + "\n")
            count += 1
    return count


def merged(parts: Iterable[Iterator[Event]]) -> Iterator[Event]:
    """One history of several that were recorded side by side: a header, their events in order, and a footer if whole.

    The clocks are of one host, so the order of mono_ns is the order in which the kit saw things happen. Each part is
    in that order already, so a heap of one event a part is all that is held.
    """
    streams, headers, footers = list(parts), list[Event](), list[Event]()

    def body(part: Iterator[Event]) -> Iterator[Event]:
        for event in part:
            if event.type in ("header", "footer"):
                (headers if event.type == "header" else footers).append(event)
            else:
                yield event

    in_order = heapq.merge(*map(body, streams), key=lambda event: (event.mono_ns, event.process))
    last = next(in_order, None)  # after this every part has told its header
    if not headers:
        raise HistoryError("nothing to merge: no part has a header")
    count, states = 1, 0
    yield msgspec.structs.replace(headers[0], index=0)
    for event in [] if last is None else itertools.chain([last], in_order):
        last, states = event, states + (event.type == "state")
        yield msgspec.structs.replace(event, index=count)
        count += 1
    if len(footers) == len(streams):
        footer: dict[str, Any] = {"type": "footer", "process": -1, "value": {"events": count, "states": states}}
        yield msgspec.structs.replace(last or headers[0], **{**_BARE, **footer, "index": count})


_BARE = dict.fromkeys(("op", "agent", "key", "seq", "token", "granted", "lease_until_ms", "bus_ms", "code"))
