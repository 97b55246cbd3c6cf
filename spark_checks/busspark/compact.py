"""Compact streams: the facts of any number of runs as narrow, typed Parquet. Both engines read these.

    DIR/SYSTEM/STREAM/part-N.parquet      a column for each field of the stream's fact, and `run`

Facts are taken once, here, by the extraction that each system has (`busproof.oracle.checks.extract`), in the order of
the history and in memory that does not grow with it. A row's times are indexes of the history, so a witness can be
shown from the file that `about` names. `about` is written last: a folder without it is not finished.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from busproof.contract.history import Broken, Event, HistoryError, ranges, scan, scan_range
from busproof.oracle.checks.extract import extract_into
from busproof.oracle.checks.extract.ranges import Damaged, Range, Seams, facts, take
from busproof.oracle.checks.facts import FACTS, STREAM, About, Fact
from busproof.oracle.checks.integrity import Integrity, apart
from busproof.systems import SYSTEMS
from busspark.hosts import compared, side_by_side

ROWS_HELD = 5_000  # of one stream as objects, few enough for a core's cache
TABLES_HELD = 10  # of those as columns, before they go to disk together
BYTES_OF_A_JOB = 32_000_000  # another process costs a second to start
FORMAT = 9  # streams of another lack something, and are made anew
STATES = ("stored", "positions", "exported", "exports")  # a later dump or look at the export replaces them
Run = tuple[str, str]  # system, run
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


def compact(paths: Iterable[Path], into: Path, jobs: int = 0) -> list[About]:
    """Write the runs of these files; parts that were recorded side by side are one run. Returns a row for each run.

    As many processes do this (all cores by default, if there is enough to do): each takes some runs, or ranges of one.

    HistoryError if a file is no history of a known system.
    """
    parts_of: dict[Run, list[Path]] = defaultdict(list)
    for path in paths:
        first = next(scan(path), None)
        if not isinstance(first, Event) or first.system not in SYSTEMS:
            why = first.why if isinstance(first, Broken) else "it tells no known system" if first else "there is none"
            raise HistoryError(f"{path} is no history: its first line: {why}")
        parts_of[first.system, first.run].append(path)
    into.mkdir(parents=True, exist_ok=True)
    jobs = jobs or os.cpu_count() or 1
    long = {run: parts[0] for run, parts in parts_of.items() if jobs > 1 and _is_long(parts)}
    shares = _shares({run: parts for run, parts in parts_of.items() if run not in long}, jobs)
    if not long and len(shares) == 1:
        abouts = _take(into, "a", shares[0])
    else:
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
            taken = [pool.submit(_take, into, f"{n:03}", share) for n, share in enumerate(shares)]
            abouts = {}
            for n, (run, path) in enumerate(long.items()):
                abouts[run] = _in_ranges(pool, jobs, into, f"r{n:03}", run, path)
            for share in taken:
                abouts |= share.result()
    _finish(into, abouts)
    return list(abouts.values())


def _is_long(parts: list[Path]) -> bool:
    """Is it worth to be cut into ranges? Parts are merged line by line, and packed files unpacked, by one process."""
    return len(parts) == 1 and parts[0].suffix == ".jsonl" and parts[0].stat().st_size >= 4 * BYTES_OF_A_JOB


def _shares(parts_of: dict[Run, list[Path]], jobs: int) -> list[dict[Run, list[Path]]]:
    """The runs, shared out by size: the largest goes first, to the share that has the least."""
    sizes = {run: sum(part.stat().st_size for part in parts) for run, parts in parts_of.items()}
    count = min(len(parts_of), max(1, min(jobs, sum(sizes.values()) // BYTES_OF_A_JOB)))
    shares: list[dict[Run, list[Path]]] = [{} for _ in range(count)]
    loads = [0] * count
    for run in sorted(sizes, key=lambda run: -sizes[run]):
        least = loads.index(min(loads))
        shares[least][run] = parts_of[run]
        loads[least] += sizes[run]
    return shares


@contextmanager
def _no_cycles() -> Iterator[None]:
    """Millions of rows, and not one cycle for the collector to look for."""
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


def _take(into: Path, mark: str, parts_of: dict[Run, list[Path]]) -> dict[Run, About]:
    """Write the streams of these runs, in files whose names begin with the mark."""
    abouts: dict[Run, About] = {}
    for system in {system for system, _ in parts_of}:
        with _no_cycles(), closing(Streams(into / system, mark)) as streams:
            runs = {run: parts for (of, run), parts in parts_of.items() if of == system}
            abouts |= {(system, run): streams.take(run, parts) for run, parts in runs.items()}
    return abouts


# -- a long run: its ranges side by side


def _in_ranges(pool: Executor, jobs: int, into: Path, mark: str, run: Run, path: Path) -> About:
    """Write the streams of one run. The ranges are taken a few ahead, so that few of them wait on disk."""
    header = next(scan(path))
    assert isinstance(header, Event)
    seams = Seams(SYSTEMS[header.system].facts, header)
    cut = ranges(path, BYTES_OF_A_JOB)
    written: list[Future[tuple[dict[str, int], About | None]]] = []
    restarts: list[set[str]] = []
    with tempfile.TemporaryDirectory(prefix="busproof-ranges-", dir=into) as scratch:
        files = [Path(scratch, f"{n:06}") for n in range(len(cut))]
        taken: list[Future[Range]] = []
        try:
            for n, file in enumerate(files):
                for ahead in range(len(taken), min(n + 2 * jobs, len(cut))):
                    taken.append(pool.submit(_take_range, path, *cut[ahead], header, files[ahead]))
                range_ = taken[n].result()
                known, is_last = seams.known_before(range_), n == len(cut) - 1
                restarts.append(range_.restarts)
                written.append(pool.submit(_write_range, into, f"{mark}-{n:06}", header, range_, known, file, is_last))
            seams.end()
        except Damaged:
            wait(taken)
            wait(written)
            for streams in into.glob(f"*/*/part-{mark}-*"):
                streams.unlink()
            return _take(into, mark, {run: [path]})[run]
        ends = [each.result() for each in written]
    about = ends[-1][1]
    assert about is not None
    total = _counts_of_all(into / header.system, mark, restarts, [counts for counts, _ in ends])
    source = json.dumps([str(path.absolute())])
    return msgspec.structs.replace(about, source=source, counts=json.dumps(total), format=FORMAT)


def _take_range(path: Path, begin: int, end: int, header: Event, file: Path) -> Range:
    with _no_cycles(), file.open("wb") as out:
        return take(
            scan_range(path, begin, end),
            SYSTEMS[header.system].facts,
            header,
            lambda data: out.write(len(data).to_bytes(8) + data),
        )


def _write_range(
    into: Path, mark: str, header: Event, range_: Range, known: bytes, file: Path, is_last: bool
) -> tuple[dict[str, int], About | None]:
    """Write the streams of a range, in files that begin with `mark`, and count their rows. The last tells about all."""
    with _no_cycles(), closing(Streams(into / header.system, mark, header.run)) as streams, file.open("rb") as packed:
        entries = (packed.read(int.from_bytes(size)) for size in iter(partial(packed.read, 8), b""))
        reading = facts(SYSTEMS[header.system].facts, header, range_, known, entries, streams)
        about = reading.ended(streams) if is_last else None
        counts = streams.end_run()
    file.unlink()
    return counts, about


def _counts_of_all(folder: Path, mark: str, restarts: list[set[str]], counts: list[dict[str, int]]) -> Counter[str]:
    """The rows of all ranges. A state that begins anew makes those of the ranges before it void."""
    total: Counter[str] = Counter()
    for name in {name for of_range in counts for name in of_range}:
        begin = max((n for n, streams in enumerate(restarts) if name in streams), default=0)
        total[name] = sum(of_range.get(name, 0) for of_range in counts[begin:])
        for void in (path for n in range(begin) for path in (folder / name).glob(f"part-{mark}-{n:06}-*")):
            void.unlink()
    return total


def _finish(into: Path, abouts: dict[Run, About]) -> None:
    """The rows about the runs come last."""
    for system in {system for system, _ in abouts}:
        for name in FACTS:
            if not any((into / system / name).iterdir()):
                pq.write_table(_SCHEMAS[name].empty_table(), into / system / name / "part-0.parquet")
        rows = [_table("about", run, [about]) for (of, run), about in abouts.items() if of == system]
        pq.write_table(pa.concat_tables(rows), into / system / "about" / "part-0.parquet")


class Streams:
    """A sink of facts that holds at most some ROWS_HELD * TABLES_HELD rows of each stream. Its files begin with `mark`.

    Rows of many short runs come together in one group of a file. The rows of a state wait for the end of their run.
    """

    def __init__(self, folder: Path, mark: str, run: str = "") -> None:
        self._folder, self._mark, self._run = folder, mark, run
        self._rows: dict[type[Fact], list[Fact]] = {fact: [] for fact in FACTS.values()}
        self._tables: dict[str, list[pa.Table]] = {name: [] for name in FACTS}
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._states: dict[str, list[pa.Table]] = {name: [] for name in STATES}  # of this run's last state
        self._of_state: dict[str, list[Path]] = defaultdict(list)  # its files, once it is too long to be held
        self._counts: Counter[str] = Counter()
        self._parts = 0
        for name in FACTS:
            (folder / name).mkdir(parents=True, exist_ok=True)

    def take(self, run: str, parts: list[Path]) -> About:
        """Take all facts of one run."""
        self._run, self._counts, self._of_state = run, Counter(), defaultdict(list)
        watched = [Integrity() for _ in parts]
        lines = [integrity.watch(scan(part)) for integrity, part in zip(watched, parts, strict=True)]
        clocks = compared(parts)
        about = extract_into(self, side_by_side(lines, clocks), SYSTEMS[self._folder.name].facts)
        about.counts, about.format = json.dumps(self.end_run()), FORMAT
        about.source = json.dumps([str(part.absolute()) for part in parts])
        about.damage = next((integrity.damage for integrity in watched if integrity.damage), "")
        about.damage = about.damage or apart(dict(zip(map(str, parts), watched, strict=True)))
        if clocks is not None:
            about.damage, about.clocks = about.damage or clocks.disagree, str(clocks)
        return about

    def end_run(self) -> dict[str, int]:
        """All facts of a run, or of a range of it, are there; returns their number by stream."""
        for name in FACTS:
            self._flush(name)
        for name in STATES:
            for path in self._of_state[name]:
                self._append(name, pq.read_table(path))
                path.unlink()
            for table in self._states[name]:
                self._append(name, table)
            self._states[name].clear()
        return dict(self._counts)

    def add(self, fact: Fact, /) -> None:
        """Add one row."""
        rows = self._rows[type(fact)]
        rows.append(fact)
        if len(rows) >= ROWS_HELD:
            self._flush(STREAM[type(fact)])

    def restart(self, *streams: str) -> None:
        """A state comes, and the rows of the one before it go."""
        for name in streams:
            for path in self._of_state.pop(name, []):
                path.unlink()
            self._rows[FACTS[name]].clear()
            self._states[name].clear()
            self._counts[name] = 0

    def close(self) -> None:
        """End the files."""
        for name in FACTS:
            self._write(name)
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _flush(self, name: str) -> None:
        rows = self._rows[FACTS[name]]
        if not rows:
            return
        table = _table(name, self._run, rows)
        rows.clear()
        self._counts.update({name: len(table), **_special(name, table)})
        if name not in STATES:
            self._append(name, table)
            return
        self._states[name].append(table)
        if len(self._states[name]) >= TABLES_HELD:
            self._of_state[name].append(self._new_file(name))
            pq.write_table(pa.concat_tables(self._states[name]), self._of_state[name][-1], **_HOW)
            self._states[name].clear()

    def _append(self, name: str, table: pa.Table) -> None:
        self._tables[name].append(table)
        if sum(map(len, self._tables[name])) >= ROWS_HELD * TABLES_HELD:
            self._write(name)

    def _write(self, name: str) -> None:
        if not self._tables[name]:
            return
        table = pa.concat_tables(self._tables[name])
        self._tables[name].clear()
        if name not in self._writers:
            self._writers[name] = pq.ParquetWriter(self._new_file(name), table.schema, **_HOW)
        self._writers[name].write_table(table)

    def _new_file(self, name: str) -> Path:
        self._parts += 1
        return self._folder / name / f"part-{self._mark}-{self._parts:06}.parquet"


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
