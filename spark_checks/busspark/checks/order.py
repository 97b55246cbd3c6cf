"""order in Spark: one group by message, then a running maximum in seq order, in buckets of seq.

An order of a whole lane would need one partition; so seq is bucketed, each bucket keeps its running maximum, and the
buckets' own maxima are stitched on the driver, in order.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from busproof.checks.facts import About
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.frames import Frames

BUCKET = 65_536


def check(frames: Frames, about: About) -> Verdict:
    """See busproof.checks.order, which says why."""
    acknowledged = _acknowledged(frames)
    found = witnesses(*_violations(frames, acknowledged))
    return judged("order", found, acknowledged.count(), about.unknown_because)


def check_dense(frames: Frames, about: About) -> Verdict:
    """The same, and the final state of each lane has every seq from 1."""
    acknowledged = _acknowledged(frames)
    found = _violations(frames, acknowledged)
    if about.dump_at is not None:
        earlier = F.coalesce(F.lag("seq").over(Window.partitionBy("lane").orderBy("seq")), F.lit(0))
        gaps = frames.stored.where("seq IS NOT NULL").withColumn("earlier", earlier).where("seq <> earlier + 1")
        found.append(violations(gaps, "gap", [F.lit(about.dump_at)], "earlier", "seq"))
    return judged("order", witnesses(*found), acknowledged.count(), about.unknown_because or about.no_dump)


def _named(frames: Frames) -> DataFrame:
    return frames.appended.withColumn("message", F.coalesce("name", "id")).where("message IS NOT NULL")


def _acknowledged(frames: Frames) -> DataFrame:
    return _named(frames).where("outcome = 'ok' AND seq IS NOT NULL")


def _violations(frames: Frames, acknowledged: DataFrame) -> list[DataFrame]:
    pairs = acknowledged.groupBy("lane", "message", "seq").agg(F.min("end").alias("end"))
    by_seq = pairs.groupBy("lane", "seq").agg(
        F.min("end").alias("one"), F.max("end").alias("two"), F.count("*").alias("n")
    )
    moment = F.struct("end", "seq")
    by_message = pairs.groupBy("lane", "message").agg(
        F.min(moment).alias("one"), F.max(moment).alias("two"), F.count("*").alias("n")
    )
    return [
        violations(by_seq.where("n > 1"), "seq_doubled", ["one", "two"], "seq"),
        violations(by_message.where("n > 1"), "id_moved", ["one.end", "two.end"], "one.seq", "two.seq"),
        _reversed(frames),
    ]


def _reversed(frames: Frames) -> DataFrame:
    spans = (
        _named(frames)
        .groupBy("lane", "message")
        .agg(
            F.min(F.when(F.expr("outcome = 'ok' AND seq IS NOT NULL"), F.struct("end", "seq"))).alias("first"),
            F.min(F.when(F.col("outcome") != "fail", F.col("begin"))).alias("begin"),
        )
        .where("first IS NOT NULL")
        .select("lane", "begin", "first.end", "first.seq", F.expr(f"first.seq DIV {BUCKET}").alias("bucket"))
    )
    moment = F.struct("begin", "end", "seq")
    in_order = Window.partitionBy("lane", "bucket").orderBy("seq", "end", "begin")
    so_far = F.max(moment).over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    carry = F.broadcast(_edges(frames, spans.groupBy("lane", "bucket").agg(F.max(moment).alias("most"))))
    latest = spans.withColumn("so_far", so_far).join(carry, ["lane", "bucket"], "left")
    latest = latest.withColumn("latest", F.greatest("so_far", "carry"))
    return violations(latest.where("latest.begin > end"), "order_reversed", ["end", "latest.end"], "seq", "latest.seq")


def _edges(frames: Frames, edges: DataFrame) -> DataFrame:
    """For each bucket the largest moment of all buckets of its lane before it."""
    carried: list[tuple[str, int, tuple[int, ...] | None]] = []
    most: tuple[int, ...] | None = None
    lane = None
    for edge in edges.orderBy("lane", "bucket").collect():
        most, lane = (most if edge.lane == lane else None), edge.lane
        carried.append((edge.lane, edge.bucket, most))
        most = max(most, tuple(edge.most)) if most else tuple(edge.most)
    schema = "lane STRING, bucket LONG, carry STRUCT<begin: LONG, end: LONG, seq: LONG>"
    return frames.spark.createDataFrame(carried, schema)
