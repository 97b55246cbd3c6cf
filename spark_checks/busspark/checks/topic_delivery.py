"""topic_delivery in Spark: each sync beside the reader's last one; what a cursor passes against the log, seq by seq."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.topics_streams import TopicsStreams


def check(streams: TopicsStreams, about: Completeness) -> Verdict:
    """See busproof.checks.topic_delivery, which says why."""
    got = streams.got.join(streams.synced.select("end", "topic", "reader", "include_self"), "end")
    following = got.withColumn("next", F.lead("seq").over(Window.partitionBy("end").orderBy("place")))
    chains = _chains(streams)
    again = chains.select("end", "before").join(streams.got, "end").where("seq <= before")
    stood = chains.where("NOT auto_advance AND after <> before")
    found = witnesses(
        violations(following.where("next <= seq"), "unordered", ["end"], "seq", "next"),
        violations(got.where("NOT include_self AND sender = reader"), "own_message", ["end"], "seq"),
        violations(streams.synced.where("rows > max_items"), "over_limit", ["end"], "rows", "max_items"),
        violations(again, "redelivered", ["end"], "seq", "before"),
        violations(_skipped(streams, chains), "skipped", ["end"], "seq", "passed"),
        violations(stood, "cursor_moved", ["end"], "after", "before"),
        violations(_stale(streams), "stale", ["end"], "newest"),
    )
    return judged("topic_delivery", found, streams.synced.count(), about.unknown_because or about.no_dump)


def _chains(streams: TopicsStreams) -> DataFrame:
    """Syncs whose reader's cursor before them is known."""
    last = F.lag("after").over(Window.partitionBy("reader", "topic").orderBy("end"))
    return (
        streams.synced.withColumn("last", F.coalesce(last, F.lit(0)))
        .withColumn("before", F.greatest("last", F.coalesce("ack_through", F.lit(0))))
        .join(streams.unfollowed, ["reader", "topic"], "left_anti")
    )


def _skipped(streams: TopicsStreams, chains: DataFrame) -> DataFrame:
    passed = F.greatest("most", F.when(F.col("auto_advance"), F.col("after")).otherwise(0))
    return (
        chains.withColumn("passed", passed)
        .where("passed > before")
        .withColumn("seq", F.explode(F.expr("sequence(before + 1, passed)")))
        .select("end", "topic", "reader", "include_self", "passed", "seq")
        .join(streams.stored.select("topic", "seq", "sender"), ["topic", "seq"])
        .where("include_self OR sender <> reader")
        .join(streams.got.select("end", "seq"), ["end", "seq"], "left_anti")
    )


def _stale(streams: TopicsStreams) -> DataFrame:
    """For each reader, acknowledged messages and its syncs in one line of time."""
    readers = streams.synced.select("topic", "reader").distinct()
    sent = (
        streams.sent.where("outcome = 'ok' AND seq IS NOT NULL")
        .join(readers, "topic")
        .selectExpr(
            "topic",
            "reader",
            "end AS at",
            "seq AS any_seq",
            "CASE WHEN sender <> reader THEN seq END AS other_seq",
            "CAST(NULL AS LONG) AS sync",
        )
    )
    syncs = streams.synced.selectExpr(
        "topic",
        "reader",
        "begin AS at",
        "CAST(NULL AS LONG) AS any_seq",
        "CAST(NULL AS LONG) AS other_seq",
        "end AS sync",
    )
    so_far = Window.partitionBy("topic", "reader").orderBy("at").rowsBetween(Window.unboundedPreceding, 0)
    seen = (
        sent.unionByName(syncs)
        .withColumn("any_newest", F.max("any_seq").over(so_far))
        .withColumn("other_newest", F.max("other_seq").over(so_far))
        .where("sync IS NOT NULL")
        .selectExpr("sync AS end", "any_newest", "other_newest")
    )
    return (
        streams.synced.where("auto_advance AND rows < max_items")
        .join(seen, "end")
        .withColumn("newest", F.expr("CASE WHEN include_self THEN any_newest ELSE other_newest END"))
        .where("newest > greatest(after, most, 0)")
    )
