"""Spark takes the facts of raw lines itself, and says of them what Python says of compact streams."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession
from spark_checks.tests.damage import Damage, events_of, written
from spark_checks.tests.test_compact import parts_of

from busproof.contract.history import Event, HistoryError
from busspark import cli, ingest, twin
from busspark.compact import compact
from busspark.ingest import _starts
from busspark.judge import judge
from busspark.sources import histories


def test_raw_lines_are_judged_as_compact_streams_are(
    spark: SparkSession, recorded: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sound run, a packed one, a damaged one, one in parts; files that break off, and with bytes that are no text.

    Spark reads the long ones in some blocks, and those with damage once more, as a whole.
    """
    monkeypatch.setattr(ingest, "BYTES_OF_A_RANGE", "500k")
    ranges_of: dict[str, int] = {}

    def starts(header: Event, rows: Iterable[Row]) -> list[tuple[object, ...]]:
        rows = list(rows)
        ranges_of[header.run] = len(rows)
        return _starts(header, rows)

    monkeypatch.setattr(ingest, "_starts", starts)
    events, raw = events_of(recorded("worker")), tmp_path / "raw"
    (raw / "parts").mkdir(parents=True)
    written(events, raw / "real.jsonl")
    written(Damage(events, 3).done(), raw / "damaged.jsonl")
    written(events_of(recorded("topics")), raw / "packed.jsonl")
    (raw / "packed.jsonl.gz").write_bytes(gzip.compress((raw / "packed.jsonl").read_bytes()))
    (raw / "packed.jsonl").unlink()
    for number, part in enumerate(parts_of(written(events, tmp_path / "apart.jsonl"), tmp_path)):
        if part.suffix != ".zst":  # Spark reads zstd only where Hadoop's own library is
            shutil.copy(part, raw / "parts" / f"{number}{''.join(part.suffixes)}")
    lines = written(events, tmp_path / "cut.jsonl").read_bytes().splitlines(keepends=True)
    (raw / "cut.jsonl").write_bytes(b"".join(lines[:50])[:-9])
    torn = written(events, tmp_path / "torn.jsonl").read_bytes().splitlines(keepends=True)
    (raw / "torn.jsonl").write_bytes(b"".join([*torn[:9], b'{"\xff\xfe": 1}\r\n', *torn[9:]]))

    compact(histories([str(raw)]), tmp_path / "streams")
    in_spark = judge(spark, [raw.as_uri()])
    in_python = dict(twin.judge(tmp_path / "streams"))
    assert len(in_python) == 6
    assert ranges_of.keys() == {"real", "damaged", "torn"} and min(ranges_of.values()) > 1
    assert {run: str(verdicts).replace("file://", "") for run, verdicts in in_spark.items()} == {
        run: str(verdicts) for run, verdicts in in_python.items()
    }


def test_a_file_that_is_no_history_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("a note\n")
    with pytest.raises(HistoryError, match=r"notes\.jsonl is no history"):
        judge(spark, [(tmp_path / "notes.jsonl").as_uri()])


@pytest.mark.parametrize(
    ("argv", "is_far"),
    [
        (["runs"], False),
        (["runs", "--engine", "both", "--master", "local[2]"], False),
        (["s3a://bucket/*.jsonl"], True),
        (["runs", "--master", "spark://host:7077"], True),
        (["runs", "--master", "spark://host:7077", "--engine", "both"], False),  # Python judges the same streams
        (["streams", "--master", "spark://host:7077"], False),
    ],
)
def test_spark_reads_the_lines_where_this_process_cannot_or_its_workers_see_no_file_of_it(
    argv: list[str], is_far: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "streams" / "worker" / "about").mkdir(parents=True)
    (tmp_path / "streams" / "worker" / "about" / "part-0.parquet").touch()
    assert cli._is_far(cli._parser().parse_args(argv)) is is_far
