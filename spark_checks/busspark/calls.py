"""A history's calls as a DataFrame, and what the streams of all systems share.

Calls are paired as in `busproof.checks.calls`.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, Self

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from busproof.checks.calls import NEVER
from busspark.schema import event_schema


class Frames:
    """A dataclass whose fields are DataFrames; `about` has one row."""

    about: DataFrame

    @property
    def spark(self) -> SparkSession:
        """The session that they live in."""
        return self.about.sparkSession

    def cache(self) -> Self:
        """Read the source once, whatever the number of checks.

        A checkpoint also cuts the plan: with ten levels of parsing in it, every check would be planned for seconds.
        """
        frames: dict[str, Any] = {name: frame.localCheckpoint() for name, frame in self._frames().items()}
        return type(self)(**frames)

    def write(self, folder: Path) -> None:
        """One Parquet folder a stream."""
        for name, frame in self._frames().items():
            frame.write.mode("overwrite").option("compression", "zstd").parquet(str(folder / name))

    def _frames(self) -> dict[str, DataFrame]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


def events_of(spark: SparkSession, path: Path) -> DataFrame:
    """The events of a history of JSON Lines; a torn line is left out."""
    return spark.read.schema(event_schema()).json(str(path)).where("index IS NOT NULL")


def parquet(spark: SparkSession, folder: Path, schemas: dict[str, str]) -> dict[str, DataFrame]:
    """Streams that were written before."""
    return {name: spark.read.schema(schema).parquet(str(folder / name)) for name, schema in schemas.items()}


def parsed(column: str, schema: str) -> Column:
    """A column of JSON text as a struct."""
    return F.from_json(column, schema)


def calls_of(events: DataFrame) -> DataFrame:
    """An invocation is closed by the next event of its process, if that is of the same operation."""
    in_order = Window.partitionBy("process").orderBy("index")
    closing = F.lead(F.struct("type", "op", "index", "value", "granted", "wall_ms", "lease_until_ms")).over(in_order)
    is_answer = F.expr("next.type <> 'invoke' AND next.op = op")
    return (
        events.where("type IN ('invoke', 'ok', 'fail', 'info')")
        .withColumn("next", closing)
        .where("type = 'invoke'")
        .withColumn("next", F.when(is_answer, F.col("next")))
        .select(
            F.col("index").alias("begin"),
            F.coalesce("next.index", F.lit(NEVER)).alias("end"),
            F.coalesce("next.type", F.lit("info")).alias("outcome"),
            "op",
            "key",
            "seq",
            "bus_ms",
            "process",
            F.coalesce("agent", F.lit("")).alias("agent"),
            F.col("value").alias("params"),
            F.when(F.col("next.type") == "ok", F.col("next.value")).alias("reply"),
            F.col("next.granted").alias("granted"),
            F.col("next.lease_until_ms").alias("lease_until_ms"),
            F.coalesce("bus_ms", "next.wall_ms", "wall_ms").alias("at_ms"),
        )
    )
