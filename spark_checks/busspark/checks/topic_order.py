"""topic_order in Spark: a running maximum in each topic's seq order, and each stored seq against the one before."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.topics_streams import TopicsStreams


def check(streams: TopicsStreams, about: Completeness) -> Verdict:
    """See busproof.checks.topic_order, which says why."""
    acknowledged = streams.sent.where("outcome = 'ok' AND seq IS NOT NULL")
    tries = acknowledged.groupBy("topic", "seq").agg(
        F.min("end").alias("one"), F.max("end").alias("two"), F.count_distinct("message_id").alias("ids")
    )
    frames = [
        violations(tries.where("ids > 1"), "seq_doubled", ["one", "two"], "seq"),
        violations(
            _latest(streams, acknowledged).where("latest.begin > end"),
            "order_reversed",
            ["end", "latest.end"],
            "seq",
            "latest.seq",
        ),
    ]
    if about.dump_at is not None:
        before = F.coalesce(F.lag("seq").over(Window.partitionBy("topic").orderBy("seq")), F.lit(0))
        gaps = streams.stored.withColumn("before", before).where("seq <> before + 1")
        frames.append(violations(gaps, "topic_gap", [F.lit(about.dump_at)], "before", "seq"))
    return judged("topic_order", witnesses(*frames), tries.count(), about.unknown_because or about.no_dump)


def _latest(streams: TopicsStreams, acknowledged: DataFrame) -> DataFrame:
    """Each message's beginning, return and seq, with the latest beginning of a smaller seq."""
    begins = (
        streams.sent.where("outcome <> 'fail' AND key IS NOT NULL")
        .groupBy("topic", "sender", "key")
        .agg(F.min("begin").alias("first"))
    )
    spans = (
        acknowledged.join(begins, ["topic", "sender", "key"], "left")
        .groupBy("topic", "seq")
        .agg(F.min("end").alias("end"), F.min(F.coalesce("first", "begin")).alias("begin"))
    )
    in_order = Window.partitionBy("topic").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    return spans.withColumn("latest", F.max(F.struct("begin", "end", "seq")).over(in_order))
