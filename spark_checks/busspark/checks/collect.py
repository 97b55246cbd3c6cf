"""Violations come to the driver; events never do."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from busproof.checks.verdict import Witness


def violations(frame: DataFrame, kind: str, events: Iterable[str | Column], a: object = 0, b: object = 0) -> DataFrame:
    """Rows (events, kind, a, b) of one kind of violation; a and b are columns or numbers."""

    def number(value: object) -> Column:
        return F.expr(value) if isinstance(value, str) else value if isinstance(value, Column) else F.lit(value)

    return frame.select(
        F.array(*[F.col(e) if isinstance(e, str) else e for e in events]).alias("events"),
        F.lit(kind).alias("kind"),
        number(a).cast("long").alias("a"),
        number(b).cast("long").alias("b"),
    )


def witnesses(*frames: DataFrame) -> list[Witness]:
    """Collect them all in one job."""
    union, *others = frames
    for other in others:
        union = union.unionByName(other)
    return [Witness(tuple(row.events), row.kind, row.a, row.b) for row in union.distinct().collect()]
