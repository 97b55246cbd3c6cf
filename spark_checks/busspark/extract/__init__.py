"""From the lines of a history to frames of facts, a module a system; each does what its Python twin does."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from busproof.checks import Source
from busproof.systems import SYSTEMS
from busspark.extract import comms, topics, worker
from busspark.extract.common import parsed
from busspark.frames import Frames, finished, from_parquet
from busspark.lines import Lines
from busspark.lines import read as read_lines

MAKERS = {"worker": worker.facts, "comms": comms.facts, "topics": topics.facts}


def read(spark: SparkSession, path: Path, system: str) -> tuple[Frames, str]:
    """The facts, from a history of JSON Lines or a folder of Parquet streams; and what is damaged, if anything is."""
    if path.is_dir():
        return from_parquet(spark, path), ""
    lines = read_lines(spark, path)
    source, calls = SYSTEMS[system].facts, lines.calls.cache()
    made = {**MAKERS[system](calls, lines), "malformed": _malformed(calls, source), "about": _about(calls, lines)}
    return finished(spark, system, source, made), lines.damage


def _malformed(calls: DataFrame, source: Source) -> DataFrame:
    """Answers that the kit saw to be malformed, or with something else where a number belongs."""
    wrong = F.col("is_malformed")
    for op, names in source.numbers.items():
        for name in names:
            there = F.get_json_object("reply", f"$.{name}").isNotNull()
            is_none = parsed("reply", f"{name} LONG").getField(name).isNull()
            wrong = wrong | ((F.col("op") == op) & there & is_none)
    return calls.where(wrong).select(F.col("end").alias("event"))


def _about(calls: DataFrame, lines: Lines) -> DataFrame:
    return calls.agg(F.max(F.when(F.col("op") != "clock.set", F.col("at_ms"))).alias("newest_ms")).select(
        F.lit(lines.is_whole).alias("is_whole"),
        F.lit(lines.dump.index if lines.dump else None).cast("long").alias("dump_at"),
        "newest_ms",
        F.lit(lines.count).cast("long").alias("lines"),
    )
