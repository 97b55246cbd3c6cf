"""Raw histories to facts on Spark, wherever it can read: lines go in, the streams of every system come out.

Spark reads the lines of all files, in as many tasks as it likes, and brings the lines of each run together, those of a
file in their order. A task then takes the facts of its runs with the one extraction that there is (`compact`), in
files on the disk of its worker. Runs are taken side by side; the facts of one run are taken in one task.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from busproof.contract.history import HistoryError
from busproof.oracle.checks.facts import FACTS
from busproof.systems import SYSTEMS
from busspark.compact import compact, schema_of
from busspark.screen.rows import Streams
from busspark.session import shorten

TASKS_OF_A_CORE = 3  # runs differ in length: a core that is done takes another task
_COLUMNS = {field.name: field for fact in FACTS.values() for field in schema_of(fact)}
_ALL = pa.schema([("system", pa.string()), ("stream", pa.string()), *_COLUMNS.values()])


class Part(NamedTuple):
    """A file: the run that its first line tells."""

    path: str
    system: str
    run: str
    lines: int


@contextmanager
def ingested(spark: SparkSession, paths: list[str], say: Callable[[str], None]) -> Iterator[dict[str, Streams]]:
    """The streams of each system, from the raw lines of these files, folders or patterns; Spark holds them meanwhile.

    HistoryError if a file is no history of a known system.
    """
    lines = _lines(spark, paths)
    parts = _parts(lines)
    count = sum(part.lines for part in parts)
    shorten(spark, count)
    say(f"spark: taking the facts of {count:,} lines in {len(parts)} files")
    tasks = _tasks(parts, spark.sparkContext.defaultParallelism * TASKS_OF_A_CORE)
    of_files = spark.createDataFrame(tasks, "path string, system string, run string, task int")
    together = (
        lines.join(F.broadcast(of_files), "path")
        .repartitionById(1 + max(task for *_, task in tasks), F.col("task"))
        .sortWithinPartitions("system", "run", "path", "block", "line")
        .select("system", "run", "path", F.expr("CAST(value AS BINARY)").alias("value"))
    )
    facts = together.mapInArrow(_facts, from_arrow_schema(_ALL)).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield {
            system: {
                name: facts.where((F.col("system") == system) & (F.col("stream") == name)).select(schema_of(fact).names)
                for name, fact in FACTS.items()
            }
            for system in sorted({part.system for part in parts})
        }
    finally:
        facts.unpersist()


def _lines(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Every line, with its file and its place there: the block that it was read with, and its number among all."""
    text = spark.read.option("lineSep", "\n").option("recursiveFileLookup", "true").text(paths)
    place = ["_metadata.file_path AS path", "_metadata.file_block_start AS block"]
    return text.selectExpr("value", *place, "monotonically_increasing_id() AS line")


def _parts(lines: DataFrame) -> list[Part]:
    """The files, in order. HistoryError if one is no history."""
    first = F.expr("min_by(value, line) FILTER (WHERE block = 0)").alias("first")
    parts = []
    for row in lines.groupBy("path").agg(first, F.count("*").alias("lines")).orderBy("path").collect():
        try:
            header: Any = json.loads(row["first"] or "")
        except (ValueError, RecursionError):
            header = None
        if (
            not isinstance(header, dict)
            or header.get("system") not in SYSTEMS
            or not isinstance(header.get("run"), str)
        ):
            raise HistoryError(f"{row.path} is no history: its first line tells no run of a known system")
        parts.append(Part(row.path, header["system"], header["run"], row.lines))
    if not parts:
        raise HistoryError("there is no line in these files")
    return parts


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


def _facts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The facts of the runs whose lines these are; each run's come together, each file's in their order."""
    rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    for (system, run), of_run in groupby(rows, lambda row: row[:2]):
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


def _batches(system: str, run: str, folder: Path, about: Any) -> Iterator[pa.RecordBatch]:
    """The rows of all streams as rows of one table: a stream's own columns are filled, all others are empty."""
    table = pa.Table.from_pylist([{"run": run, **msgspec.structs.asdict(about)}], schema_of(FACTS["about"]))
    streams = ((name, pq.ParquetFile(path)) for name in FACTS for path in (folder / name).glob("*.parquet"))
    rows = ((name, batch) for name, file in streams if name != "about" for batch in file.iter_batches())
    for name, batch in chain(rows, [("about", table.to_batches()[0])]):
        own = dict(zip(batch.schema.names, batch.columns, strict=True))
        own |= {"system": pa.repeat(system, len(batch)), "stream": pa.repeat(name, len(batch))}
        yield pa.record_batch(
            [own[each.name].cast(each.type) if each.name in own else pa.nulls(len(batch), each.type) for each in _ALL],
            schema=_ALL,
        )
