"""Raw histories to facts on Spark, wherever it can read: lines go in, the streams of every system come out.

A long run in one file is taken range by range, as Spark reads them (`extract/ranges.py`): tasks make the entries, this
process hears the few words that each range leaves to the next, and then tasks make the facts. The lines of other runs
(short ones, parts that were recorded side by side, and damaged ones) are brought together, each run's in one task.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import reduce
from itertools import chain, count, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from busproof.contract.history import Event, HistoryError, events_of
from busproof.oracle.checks.extract.ranges import Damaged, Seams, take
from busproof.oracle.checks.extract.ranges import facts as facts_of_range
from busproof.oracle.checks.facts import FACTS, About
from busproof.systems import SYSTEMS
from busspark.compact import FORMAT, compact, schema_of
from busspark.compact import Streams as Sink
from busspark.screen.rows import Streams
from busspark.session import shorten

BYTES_OF_A_TASK = "spark.sql.files.maxPartitionBytes"
BYTES_OF_A_RANGE = "32m"
LINES_OF_A_RANGE = 150_000  # a packed file is no more than one block, however long
TASKS_OF_A_CORE = 3  # runs differ in length: a core that is done takes another task
_COLUMNS = {field.name: field for fact in FACTS.values() for field in schema_of(fact)}
_ALL = pa.schema([("system", pa.string()), ("stream", pa.string()), *_COLUMNS.values()])


class Part(NamedTuple):
    """A file: the run that its first line tells."""

    path: str
    system: str
    run: str
    lines: int
    header: Event | None  # of a file that is more than one range


@contextmanager
def ingested(spark: SparkSession, paths: list[str], say: Callable[[str], None]) -> Iterator[dict[str, Streams]]:
    """The streams of each system, from the raw lines of these files, folders or patterns; Spark holds them meanwhile.

    HistoryError if a file is no history of a known system.
    """
    if spark.conf.get(BYTES_OF_A_TASK) == "134217728b":  # Spark's own number: a range is held in memory
        spark.conf.set(BYTES_OF_A_TASK, BYTES_OF_A_RANGE)
    lines = _lines(spark, paths)
    parts = _parts(lines)
    lines_count = sum(part.lines for part in parts)
    shorten(spark, lines_count)
    say(f"spark: taking the facts of {lines_count:,} lines in {len(parts)} files")
    files_of = Counter((part.system, part.run) for part in parts)
    headers = {part.path: part.header for part in parts if part.header and files_of[part.system, part.run] == 1}
    with _held(_taken(lines, headers)) as taken:
        by_ranges, damaged = _facts_by_ranges(taken, headers) if headers else ([], set())
        others = [part for part in parts if part.path in damaged or part.path not in headers]
        both = [*by_ranges, *([_facts_by_runs(lines, others)] if others else [])]
        with _held(reduce(DataFrame.unionByName, both)) as facts:
            abouts = _abouts(facts)
            yield {
                system: {
                    **{name: _stream(facts, system, name) for name in FACTS},
                    "about": spark.createDataFrame(rows, from_arrow_schema(schema_of(About))),
                }
                for system, rows in sorted(abouts.items())
            }


@contextmanager
def _held(frame: DataFrame) -> Iterator[DataFrame]:
    """Spark keeps it."""
    frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield frame
    finally:
        frame.unpersist()


def _stream(facts: DataFrame, system: str, name: str) -> DataFrame:
    of_stream = facts.where((F.col("system") == system) & (F.col("stream") == name))
    return of_stream.select(schema_of(FACTS[name]).names)


def _abouts(facts: DataFrame) -> dict[str, list[tuple[Any, ...]]]:
    """The row about each run, by system: of ranges the last one's, with the counts of all."""
    last: dict[tuple[str, str], About] = {}
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    names = ["run", *About.__struct_fields__]
    for row in facts.where("stream = 'about'").select("system", *names).collect():
        system, run, *columns = row
        about = About(*columns)
        counts[system, run].update(json.loads(about.counts))
        if (system, run) not in last or about.lines > last[system, run].lines:
            last[system, run] = about
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for (system, run), about in last.items():
        with_counts = msgspec.structs.replace(about, counts=json.dumps(counts[system, run]))
        rows[system].append((run, *msgspec.structs.astuple(with_counts)))
    return rows


def _lines(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Every line, with its file and its place there: the block that it was read with, and its number among all."""
    text = spark.read.option("lineSep", "\n").option("recursiveFileLookup", "true").text(paths)
    place = ["_metadata.file_path AS path", "_metadata.file_block_start AS block"]
    return text.selectExpr("value", *place, "monotonically_increasing_id() AS line")


def _parts(lines: DataFrame) -> list[Part]:
    """The files, in order. HistoryError if one is no history."""
    first = F.expr("min_by(value, line) FILTER (WHERE block = 0)").alias("first")
    parts = []
    size = F.count("*").alias("lines"), F.max("block").alias("last_block")
    for row in lines.groupBy("path").agg(first, *size).orderBy("path").collect():
        try:
            first_line: Any = json.loads(row["first"] or "")
        except (ValueError, RecursionError):
            first_line = None
        if (
            not isinstance(first_line, dict)
            or first_line.get("system") not in SYSTEMS
            or not isinstance(first_line.get("run"), str)
        ):
            raise HistoryError(f"{row.path} is no history: its first line tells no run of a known system")
        is_long = row.last_block > 0 or row.lines > LINES_OF_A_RANGE
        event = next(events_of([row["first"].encode()])) if is_long else None
        header = event if isinstance(event, Event) else None
        parts.append(Part(row.path, first_line["system"], first_line["run"], row.lines, header))
    if not parts:
        raise HistoryError("there is no line in these files")
    return parts


# -- runs of one file, by ranges

_TAKEN = pa.schema(
    [("path", pa.string()), *((name, pa.int64()) for name in ("block", "place", "chunk")), ("data", pa.binary())]
)
_PLACE = ["path", "block", "place"]
_OF_ALL = -1  # the chunk that tells of a range; the others are its entries


def _taken(lines: DataFrame, headers: dict[str, Event]) -> DataFrame:
    """A row for each chunk of entries of each range, and one for its `Range`."""
    of_files = lines.sparkSession.sparkContext.broadcast(headers)

    def take_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for (path, block), rows in groupby(_rows(batches), itemgetter(0, 1)):
            if (header := of_files.value.get(path)) is None:
                continue
            values = (value for *_, value in rows)
            for place in count():
                if not (some := list(islice(values, LINES_OF_A_RANGE))):
                    break
                chunks: list[bytes] = []
                # Spark does not tell whether the last line was ended; a broken one counts as cut.
                ended = chain((value + b"\n" for value in some[:-1]), some[-1:])
                range_ = take(events_of(ended), SYSTEMS[header.system].facts, header, chunks.append)
                for chunk, data in enumerate([pickle.dumps(range_), *chunks], _OF_ALL):
                    columns = ([value] for value in (path, block, place, chunk, data))
                    yield pa.RecordBatch.from_arrays(list(map(pa.array, columns, _TAKEN.types)), schema=_TAKEN)

    return lines.selectExpr("path", "block", "CAST(value AS BINARY) AS value").mapInArrow(
        take_all, from_arrow_schema(_TAKEN)
    )


def _facts_by_ranges(taken: DataFrame, headers: dict[str, Event]) -> tuple[list[DataFrame], set[str]]:
    """The facts of all sound runs, and the files of the others."""
    starts: list[tuple[Any, ...]] = []
    damaged: set[str] = set()
    rows = taken.where(F.col("chunk") == _OF_ALL).orderBy(_PLACE).toLocalIterator()
    for path, of_file in groupby(rows, lambda row: row.path):
        try:
            starts += _starts(headers[path], of_file)
        except Damaged:
            damaged.add(path)
    if not starts:
        return [], damaged
    spark = taken.sparkSession
    known = spark.createDataFrame(starts, from_arrow_schema(_TAKEN))
    entries = taken.where((F.col("chunk") != _OF_ALL) & ~F.col("path").isin(damaged))
    tasks = min(len(starts), spark.sparkContext.defaultParallelism * TASKS_OF_A_CORE)
    together = entries.unionByName(known).repartition(tasks, *_PLACE).sortWithinPartitions(*_PLACE, "chunk")
    return [together.mapInArrow(_facts_of_ranges, from_arrow_schema(_ALL))], damaged


def _starts(header: Event, rows: Iterable[Any]) -> list[tuple[Any, ...]]:
    """For each range of a file, what it has to know. Raises Damaged."""
    seams = Seams(SYSTEMS[header.system].facts, header)
    places, ranges_, known = [], [], []
    for row in rows:
        range_ = pickle.loads(row.data)
        places.append(row[:3])
        known.append(seams.known_before(range_))
        ranges_.append(range_)
    seams.end()
    starts: list[tuple[Any, ...]] = []
    void = set[str]()  # streams of a state that begins anew in a later range
    for place, range_, before in reversed(list(zip(places, ranges_, known, strict=True))):
        is_last = not starts
        starts.append((*place, _OF_ALL, pickle.dumps((header, range_, before, is_last, frozenset(void)))))
        void |= range_.restarts
    return starts


def _facts_of_ranges(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The facts of ranges, of each of which a row tells what it has to know, before those of its entries."""
    for (path, *_), rows in groupby(_rows(batches), itemgetter(0, 1, 2)):
        first, *entries = (data for *_, data in rows)
        header, range_, known, is_last, void = pickle.loads(first)
        with tempfile.TemporaryDirectory(prefix="busproof-range-") as scratch:
            folder = Path(scratch)
            with closing(Sink(folder, "a", header.run)) as streams:
                reading = facts_of_range(SYSTEMS[header.system].facts, header, range_, known, entries, streams)
                about = reading.ended(streams) if is_last else About(False, None, None)
                counts = {name: n for name, n in streams.end_run().items() if name not in void}
            about = msgspec.structs.replace(about, counts=json.dumps(counts), source=json.dumps([path]), format=FORMAT)
            yield from _batches(header.system, header.run, folder, about, void)


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    return (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))


# -- other runs, each in one task


def _facts_by_runs(lines: DataFrame, parts: list[Part]) -> DataFrame:
    spark = lines.sparkSession
    tasks = _tasks(parts, spark.sparkContext.defaultParallelism * TASKS_OF_A_CORE)
    of_files = spark.createDataFrame(tasks, "path string, system string, run string, task int")
    together = (
        lines.join(F.broadcast(of_files), "path")
        .repartitionById(1 + max(task for *_, task in tasks), F.col("task"))
        .sortWithinPartitions("system", "run", "path", "block", "line")
        .select("system", "run", "path", F.expr("CAST(value AS BINARY)").alias("value"))
    )
    return together.mapInArrow(_facts_of_runs, from_arrow_schema(_ALL))


def _tasks(parts: list[Part], most: int) -> list[tuple[str, str, str, int]]:
    """A task for each file: that of its run. The longest run goes first, to the task that has the least to do."""
    lines_of: dict[tuple[str, str], int] = {}
    for part in parts:
        lines_of[part.system, part.run] = lines_of.get((part.system, part.run), 0) + part.lines
    loads = [0] * min(most, len(lines_of))
    task_of: dict[tuple[str, str], int] = {}
    for run in sorted(lines_of, key=lambda run: -lines_of[run]):
        task_of[run] = loads.index(min(loads))
        loads[task_of[run]] += lines_of[run]
    return [(part.path, part.system, part.run, task_of[part.system, part.run]) for part in parts]


def _facts_of_runs(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The facts of the runs whose lines these are; each run's come together, each file's in their order."""
    for (system, run), of_run in groupby(_rows(batches), lambda row: row[:2]):
        with tempfile.TemporaryDirectory(prefix="busproof-run-") as scratch:
            folder = Path(scratch)
            sources: dict[str, Path] = {}
            for path, of_file in groupby(of_run, lambda row: row[2]):
                copy = folder / f"{len(sources):06}.jsonl"
                sources[path] = copy
                _write(copy, (value for *_, value in of_file))
            about = compact(sources.values(), folder / "streams", jobs=1)[0]
            damage = about.damage
            for path, copy in sources.items():
                damage = damage.replace(str(copy), path)
            about = msgspec.structs.replace(about, source=json.dumps(list(sources)), damage=damage)
            yield from _batches(system, run, folder / "streams" / system, about)


def _write(path: Path, lines: Iterable[bytes]) -> None:
    """A file of these lines. Spark does not tell whether the last line was ended; a broken one counts as cut."""
    with path.open("wb") as file:
        for number, line in enumerate(lines):
            file.write(b"\n" + line if number else line)


def _batches(
    system: str, run: str, folder: Path, about: Any, void: Container[str] = ("about",)
) -> Iterator[pa.RecordBatch]:
    """The rows of all streams but some, in one table: a stream's own columns are filled, all others are empty."""
    table = pa.Table.from_pylist([{"run": run, **msgspec.structs.asdict(about)}], schema_of(FACTS["about"]))
    streams = ((name, pq.ParquetFile(path)) for name in FACTS for path in (folder / name).glob("*.parquet"))
    rows = ((name, batch) for name, file in streams if name not in void for batch in file.iter_batches())
    for name, batch in chain(rows, [("about", table.to_batches()[0])]):
        own = dict(zip(batch.schema.names, batch.columns, strict=True))
        own |= {"system": pa.repeat(system, len(batch)), "stream": pa.repeat(name, len(batch))}
        yield pa.record_batch(
            [own[each.name].cast(each.type) if each.name in own else pa.nulls(len(batch), each.type) for each in _ALL],
            schema=_ALL,
        )
