"""The facts of a history as frames: one DataFrame for each kind of fact, with the columns that it declares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from busproof.checks import Facts, Source
from busproof.checks.facts import FACTS, About, Malformed
from busspark.schema import fact_schema


@dataclass(frozen=True)
class Frames:
    """Streams that are not there are empty."""

    spark: SparkSession
    system: str
    streams: Mapping[str, DataFrame]

    def __getattr__(self, stream: str) -> DataFrame:
        if stream not in FACTS:
            raise AttributeError(stream)
        return self.streams[stream] if stream in self.streams else empty(self.spark, FACTS[stream])

    def known(self) -> About:
        """What every check needs to know of the whole history."""
        (row,) = self.about.collect()
        return About(**row.asDict())

    def cache(self) -> Self:
        """Read the source once, whatever the number of checks.

        A checkpoint also cuts the plan: with ten levels of parsing in it, every check would be planned for seconds.
        """
        return replace(self, streams={name: frame.localCheckpoint() for name, frame in self.streams.items()})

    def write(self, folder: Path) -> None:
        """One Parquet folder a stream, below the system's name."""
        for name in FACTS:
            frame: DataFrame = getattr(self, name)
            into = str(folder / self.system / name)
            frame.write.mode("overwrite").option("compression", "zstd").parquet(into)


def empty(spark: SparkSession, fact: type) -> DataFrame:
    """No rows of a fact."""
    columns = [F.lit(None).cast(field.dataType).alias(field.name) for field in fact_schema(fact)]
    return spark.range(0).select(*columns)


def from_parquet(spark: SparkSession, folder: Path) -> Frames:
    """What `write` wrote."""
    system = system_of(folder)
    streams = {
        name: spark.read.schema(fact_schema(fact)).parquet(str(folder / system / name)) for name, fact in FACTS.items()
    }
    return Frames(spark, system, streams)


def facts_from_parquet(folder: Path) -> Facts:
    """The same for the Python checks, all of it in memory."""
    at = folder / system_of(folder)
    rows: dict[str, list[Any]] = defaultdict(list)
    for name, fact in FACTS.items():
        for batch in pq.ParquetDataset(at / name).read().to_batches():
            rows[name] += [fact(**row) for row in batch.to_pylist()]
    return Facts(**rows)


def system_of(folder: Path) -> str:
    """Its streams stand below its name."""
    found = [path.parent.name for path in folder.glob("*/about")]
    return found[0] if len(found) == 1 else ""


def finished(spark: SparkSession, system: str, source: Source, made: Mapping[str, DataFrame]) -> Frames:
    """Frames of facts; rows that lack what must be there are `malformed` instead.

    Each frame in `made` has its fact's columns, and `source`: the event that a malformed row is blamed on.
    """
    streams: dict[str, DataFrame] = {}
    malformed = made["malformed"]
    for name, frame in made.items():
        fact = FACTS[name]
        if fact in (About, Malformed):
            continue
        columns = [F.col(field.name).cast(field.dataType).alias(field.name) for field in fact_schema(fact)]
        lacks = F.lit(False)
        for column in source.required(fact):
            lacks = lacks | F.col(column).isNull()
        streams[name] = frame.where(~lacks).select(*columns)
        malformed = malformed.unionByName(frame.where(lacks).select(F.col("source").alias("event")))
    return Frames(spark, system, {**streams, "malformed": malformed, "about": made["about"]})
