"""Ways to take columns apart."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def parsed(column: str, schema: str) -> Column:
    """A column of JSON text as a struct."""
    return F.from_json(column, schema)


def number_of(array: str) -> Column:
    """How many elements; null of null."""
    return F.expr(f"CASE WHEN {array} IS NOT NULL THEN CAST(size({array}) AS LONG) END")


def with_missing(frame: DataFrame, **defaults: object) -> DataFrame:
    """With constant columns."""
    return frame.select("*", *[F.lit(value).alias(name) for name, value in defaults.items()])


def exploded(frame: DataFrame, array: str) -> DataFrame:
    """A row for each element, with its `place` and the `row`, in place of the array."""
    others = [name for name in frame.columns if name != array]
    found = frame.select(*others, F.posexplode(array).alias("place", "row"))
    return found.withColumn("place", F.col("place").cast("long"))
