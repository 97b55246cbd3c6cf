"""log_order in Spark: one group by id, then a running maximum in seq order, in buckets of seq.

A global order would need one partition; so seq is bucketed, each bucket keeps its running maximum, and the buckets'
own maxima are stitched on the driver, in order.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.streams import Streams

BUCKET = 65_536


def check(streams: Streams, about: Completeness) -> Verdict:
    """See busproof.checks.log_order, which says why."""
    acknowledged = streams.publishes.where("outcome = 'ok' AND id IS NOT NULL AND seq IS NOT NULL")
    pairs = acknowledged.groupBy("id", "seq").agg(F.min("end").alias("end"))
    by_seq = pairs.groupBy("seq").agg(F.min("end").alias("one"), F.max("end").alias("two"), F.count("*").alias("n"))
    by_id = pairs.groupBy("id").agg(
        F.min(F.struct("end", "seq")).alias("one"), F.max(F.struct("end", "seq")).alias("two"), F.count("*").alias("n")
    )
    found = witnesses(
        violations(by_seq.where("n > 1"), "seq_doubled", ["one", "two"], "seq"),
        violations(by_id.where("n > 1"), "id_moved", ["one.end", "two.end"], "one.seq", "two.seq"),
        _reversed(streams),
    )
    return judged("log_order", found, acknowledged.count(), about.unknown_because)


def _reversed(streams: Streams) -> DataFrame:
    spans = (
        streams.publishes.where("id IS NOT NULL")
        .groupBy("id")
        .agg(
            F.min(F.when(F.expr("outcome = 'ok' AND seq IS NOT NULL"), F.struct("end", "seq"))).alias("first"),
            F.min(F.when(F.col("outcome") != "fail", F.col("begin"))).alias("begin"),
        )
        .where("first IS NOT NULL")
        .select("begin", "first.end", "first.seq", F.expr(f"first.seq DIV {BUCKET}").alias("bucket"))
    )
    moment = F.struct("begin", "end", "seq")
    in_order = Window.partitionBy("bucket").orderBy("seq", "end", "begin")
    so_far = F.max(moment).over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    spark = streams.spark
    edges = spans.groupBy("bucket").agg(F.max(moment).alias("most")).orderBy("bucket").collect()
    carried: list[tuple[int, tuple[int, ...] | None]] = []
    most: tuple[int, ...] | None = None
    for edge in edges:
        carried.append((edge.bucket, most))
        most = max(most, tuple(edge.most)) if most else tuple(edge.most)
    schema = "bucket LONG, carry STRUCT<begin: LONG, end: LONG, seq: LONG>"
    carry = F.broadcast(spark.createDataFrame(carried, schema))
    latest = spans.withColumn("so_far", so_far).join(carry, "bucket", "left")
    latest = latest.withColumn("latest", F.greatest("so_far", "carry"))
    return violations(latest.where("latest.begin > end"), "order_reversed", ["end", "latest.end"], "seq", "latest.seq")
