"""A `topics` history as narrow streams; the columns are those of `busproof.checks.topics_facts`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from busspark.calls import Frames, calls_of, events_of, parquet, parsed

SCHEMAS = {
    "sent": "begin LONG, end LONG, outcome STRING, topic STRING, sender STRING, key STRING, message_id STRING,"
    " seq LONG",
    "synced": "begin LONG, end LONG, topic STRING, reader STRING, rows LONG, most LONG, after LONG,"
    " auto_advance BOOLEAN, ack_through LONG, max_items LONG, include_self BOOLEAN",
    "got": "end LONG, place LONG, seq LONG, sender STRING",
    "unfollowed": "reader STRING, topic STRING",
    "stored": "topic STRING, seq LONG, message_id STRING, sender STRING, key STRING",
    "about": "is_whole BOOLEAN, dump_at LONG",
}


@dataclass(frozen=True)
class TopicsStreams(Frames):
    """See SCHEMAS for the columns. `about` has one row; `most` is the highest seq that a sync returned, or 0."""

    sent: DataFrame
    synced: DataFrame
    got: DataFrame
    unfollowed: DataFrame
    stored: DataFrame
    about: DataFrame


def read(spark: SparkSession, path: Path) -> TopicsStreams:
    """From a history of JSON Lines, or from a folder of Parquet streams."""
    if path.is_dir():
        return TopicsStreams(**parquet(spark, path, SCHEMAS))
    return from_events(events_of(spark, path))


def from_events(events: DataFrame) -> TopicsStreams:
    """Pair the calls and take them apart."""
    reads = _reads(calls_of(events)).cache()
    syncs = reads.where("op = 'sync'")
    is_dump = F.expr("op = 'dump' AND type = 'ok'")
    dump = events.where(is_dump).orderBy(F.desc("index")).limit(1)
    stored = "ARRAY<STRUCT<topic_id: STRING, seq: LONG, message_id: STRING, sender: STRING, client_message_id: STRING>>"
    return TopicsStreams(
        sent=_sent(syncs),
        synced=_synced(syncs),
        got=syncs.where("outcome = 'ok'")
        .select("end", F.posexplode("r.received").alias("place", "row"))
        .select("end", F.col("place").cast("long").alias("place"), "row.seq", "row.sender"),
        unfollowed=reads.where("outcome = 'info' OR op = 'cursor_reset' AND outcome <> 'fail'")
        .select("reader", "topic")
        .distinct(),
        stored=dump.select(F.explode(parsed("value", f"messages {stored}").getField("messages")).alias("m")).select(
            F.col("m.topic_id").alias("topic"),
            "m.seq",
            "m.message_id",
            "m.sender",
            F.col("m.client_message_id").alias("key"),
        ),
        about=events.agg(
            F.coalesce(F.max(F.col("type") == "footer"), F.lit(False)).alias("is_whole"),
            F.max(F.when(is_dump, F.col("index"))).alias("dump_at"),
        ),
    )


def _reads(calls: DataFrame) -> DataFrame:
    """Calls that move a cursor."""
    message = "STRUCT<seq: LONG, sender: STRING, message_id: STRING>"
    reply = f"received ARRAY<{message}>, sent ARRAY<STRUCT<message: {message}>>, cursor STRUCT<last_seq: LONG>"
    params = (
        "topic_id STRING, outbox ARRAY<STRUCT<client_message_id: STRING>>, max_items LONG, include_self BOOLEAN,"
        " auto_advance BOOLEAN, ack_through LONG"
    )
    return (
        calls.where("op IN ('sync', 'cursor_reset')")
        .withColumn("p", parsed("params", params))
        .withColumn("r", parsed("reply", reply))
        .withColumn("topic", F.col("p.topic_id"))
        .withColumn("reader", F.col("agent"))
    )


def _sent(syncs: DataFrame) -> DataFrame:
    return (
        syncs.select("begin", "end", "outcome", "topic", "reader", "r", F.posexplode("p.outbox").alias("place", "item"))
        .withColumn("told", F.expr("get(r.sent, place).message"))
        .select(
            "begin",
            "end",
            "outcome",
            "topic",
            F.col("reader").alias("sender"),
            F.col("item.client_message_id").alias("key"),
            "told.message_id",
            "told.seq",
        )
    )


def _synced(syncs: DataFrame) -> DataFrame:
    return syncs.where("outcome = 'ok'").select(
        "begin",
        "end",
        "topic",
        "reader",
        F.size("r.received").cast("long").alias("rows"),
        F.expr("coalesce(array_max(transform(r.received, m -> m.seq)), 0)").alias("most"),
        F.col("r.cursor.last_seq").alias("after"),
        F.expr("coalesce(p.auto_advance, TRUE)").alias("auto_advance"),
        F.col("p.ack_through").alias("ack_through"),
        F.expr("CASE WHEN coalesce(p.max_items, 0) = 0 THEN 20 ELSE p.max_items END").alias("max_items"),
        F.expr("coalesce(p.include_self, FALSE)").alias("include_self"),
    )
