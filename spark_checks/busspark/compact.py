"""Compact streams: the facts of any number of runs as narrow, typed Parquet. Both engines read these.

    DIR/SYSTEM/STREAM/part-N.parquet      a column for each field of the stream's fact, and `run`

Facts are taken once, here, by the extraction that each system has (`busproof.oracle.checks.extract`), in the order of
the history and in memory that does not grow with it. A row's times are indexes of the history, so a witness can be
shown from the file that `about` names. `about` is written last: a folder without it is not finished.
"""

from __future__ import annotations

import gc
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from busproof.contract.history import Broken, Event, HistoryError, merged, scan
from busproof.oracle.checks.extract import extract_into
from busproof.oracle.checks.facts import FACTS, STREAM, About, Fact
from busproof.oracle.checks.integrity import Integrity, apart
from busproof.systems import SYSTEMS

ROWS_HELD = 5_000  # of one stream as objects, few enough for a core's cache
TABLES_HELD = 10  # of those as columns, before they go to disk together
FORMAT = 7  # streams of another lack something, and are made anew
STATES = ("stored", "positions", "exported", "exports")  # a later dump or look at the export replaces them
_TYPES = {int: pa.int64(), str: pa.string(), bool: pa.bool_()}


def schema_of(fact: type[Fact]) -> pa.Schema:
    """Columns of a stream in Parquet."""
    columns = [pa.field("run", pa.string())]
    for field in msgspec.structs.fields(fact):
        kind = next(kind for kind in (bool, int, str) if kind.__name__ in str(field.type))
        columns.append(pa.field(field.name, _TYPES[kind]))
    return pa.schema(columns)


# Names of agents and the like come again and again; ids and numbers do not.
_OF_FEW = ("run", "lane", "outcome", "op", "sender", "addressee", "reader", "holder", "sent_at")
_HOW: dict[str, Any] = {"compression": "zstd", "compression_level": 1, "use_dictionary": list(_OF_FEW)}
_SCHEMAS = {name: schema_of(fact) for name, fact in FACTS.items()}


def compact(paths: Iterable[Path], into: Path) -> list[About]:
    """Write the runs of these files; parts that were recorded side by side are one run. Returns a row for each run.

    HistoryError if a file is no history of a known system.
    """
    was_collecting = gc.isenabled()
    gc.disable()  # millions of rows, and not one cycle
    try:
        return _compact(paths, into)
    finally:
        if was_collecting:
            gc.enable()


def _compact(paths: Iterable[Path], into: Path) -> list[About]:
    runs: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for path in paths:
        first = next(scan(path), None)
        if not isinstance(first, Event) or first.system not in SYSTEMS:
            why = first.why if isinstance(first, Broken) else "it tells no known system" if first else "there is none"
            raise HistoryError(f"{path} is no history: its first line: {why}")
        runs[first.system, first.run].append(path)
    abouts = []
    for system in {system for system, _ in runs}:
        with written(into / system) as streams:
            of_system = ((run, parts) for (of, run), parts in runs.items() if of == system)
            abouts += [streams.take(run, parts) for run, parts in of_system]
    return abouts


@contextmanager
def written(folder: Path) -> Iterator[Streams]:
    """The streams of one system, whole when this ends well."""
    streams = Streams(folder)
    try:
        yield streams
        streams.finish()
    finally:
        streams.close()


class Streams:
    """A sink of facts that holds at most ROWS_HELD * TABLES_HELD rows of each stream."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._run = folder, ""
        self._rows: dict[type[Fact], list[Fact]] = {fact: [] for fact in FACTS.values()}
        self._tables: dict[str, list[pa.Table]] = {name: [] for name in FACTS}
        self._runs: list[str] = []
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._of_state: dict[str, list[Path]] = defaultdict(list)  # files of this run's last state
        self._abouts: list[tuple[str, About]] = []
        self._counts: Counter[str] = Counter()
        self._parts = 0
        for name in FACTS:
            (folder / name).mkdir(parents=True, exist_ok=True)

    def take(self, run: str, parts: list[Path]) -> About:
        """Take all facts of one run."""
        self._run, self._counts, self._of_state = run, Counter(), defaultdict(list)
        watched = [Integrity() for _ in parts]
        lines = [integrity.watch(scan(part)) for integrity, part in zip(watched, parts, strict=True)]
        events = lines[0] if len(parts) == 1 else merged(lines)
        about = extract_into(self, events, SYSTEMS[self._folder.name].facts)
        for name in FACTS:
            self._flush(name)
            self._write(name)
        damage = next((integrity.damage for integrity in watched if integrity.damage), "")
        damage = damage or apart(dict(zip(map(str, parts), watched, strict=True)))
        source = json.dumps([str(part.absolute()) for part in parts])
        counts = json.dumps(self._counts)
        about = msgspec.structs.replace(about, damage=damage, source=source, counts=counts, format=FORMAT)
        self._abouts.append((run, about))
        return about

    def add(self, fact: Fact, /) -> None:
        """Add one row."""
        rows = self._rows[type(fact)]
        rows.append(fact)
        if len(rows) >= ROWS_HELD:
            self._flush(STREAM[type(fact)])

    def restart(self, *streams: str) -> None:
        """A state comes, and the rows written of the one before it go."""
        for name in streams:
            for path in self._of_state.pop(name, []):
                self._counts[name] -= pq.read_metadata(path).num_rows
                path.unlink()
            self._rows[FACTS[name]].clear()
            self._tables[name].clear()

    def finish(self) -> None:
        """The row about each run comes last."""
        self.close()
        for name in FACTS:
            if not any((self._folder / name).iterdir()):
                pq.write_table(_SCHEMAS[name].empty_table(), self._folder / name / "part-0.parquet")
        for run, about in self._abouts:
            pq.write_table(_table("about", run, [about]), self._new_file("about"))

    def close(self) -> None:
        """End the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _flush(self, name: str) -> None:
        rows = self._rows[FACTS[name]]
        if not rows:
            return
        tables = self._tables[name]
        tables.append(_table(name, self._run, rows))
        rows.clear()
        if len(tables) >= TABLES_HELD:
            self._write(name)

    def _write(self, name: str) -> None:
        if not self._tables[name]:
            return
        table = pa.concat_tables(self._tables[name])
        self._tables[name].clear()
        self._counts.update({name: len(table), **_special(name, table)})
        if name in STATES:
            self._of_state[name].append(self._new_file(name))
            pq.write_table(table, self._of_state[name][-1], **_HOW)
            return
        if name not in self._writers:
            self._writers[name] = pq.ParquetWriter(self._new_file(name), table.schema, **_HOW)
        self._writers[name].write_table(table)

    def _new_file(self, name: str) -> Path:
        self._parts += 1
        return self._folder / name / f"part-{self._parts:06}.parquet"


def _special(name: str, table: pa.Table) -> dict[str, int]:
    """The rows of which the checks tell how many they looked at."""
    if name == "appended":
        is_told = (pc.field("name").is_valid() | pc.field("id").is_valid()) & pc.field("seq").is_valid()
        return {"acknowledged": len(table.filter((pc.field("outcome") == "ok") & is_told))}
    if name == "contents":
        return {"shown": len(table.filter(~pc.field("is_sent")))}
    if name == "holds":
        return {"claims": len(table.filter((pc.field("op") == "claim") & pc.field("granted")))}
    return {}


def _table(name: str, run: str, rows: list[Fact]) -> pa.Table:
    schema = _SCHEMAS[name]
    fields = zip(*map(msgspec.structs.astuple, rows), strict=True)
    columns = [_column(column, kind) for column, kind in zip(fields, schema.types[1:], strict=True)]
    return pa.table([pa.repeat(run, len(rows)), *columns], schema=schema)


def _column(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    """Many columns hold one value alone: each system uses only some of them."""
    first = values[0]
    if first is values[-1] and values.count(first) == len(values):
        return pa.nulls(len(values), kind) if first is None else pa.repeat(pa.scalar(first, kind), len(values))
    return pa.array(values, kind)


def is_compact(folder: Path) -> bool:
    """Does it have streams?"""
    return any(folder.glob("*/about/*.parquet"))


def systems_of(folder: Path) -> list[str]:
    """The systems whose streams it has."""
    return sorted({path.parent.parent.name for path in folder.glob("*/about/*.parquet")})


def runs_of(folder: Path, system: str) -> dict[str, About]:
    """The row about each run."""
    rows = pq.read_table(folder / system / "about").to_pylist()
    return current({row.pop("run"): About(**row) for row in rows})


def current(runs: dict[str, About]) -> dict[str, About]:
    """Return these if they hold all that the checks look at. HistoryError if not."""
    for run, about in runs.items():
        if about.format != FORMAT:
            raise HistoryError(f"the streams of {run} were made by another version: `busproof compact` makes them anew")
    return runs
