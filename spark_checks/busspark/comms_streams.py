"""A `comms` history as narrow streams; the columns are those of `busproof.checks.comms_facts`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from busproof.checks.comms_facts import SENDS, TTL_S, TTL_URGENT_S
from busspark.calls import Frames, calls_of, events_of, parquet, parsed

SCHEMAS = {
    "sends": "begin LONG, end LONG, outcome STRING, id STRING, to_agent STRING, expires_ms LONG, is_chosen BOOLEAN",
    "received": "end LONG, agent STRING, place LONG, id STRING, to_agent STRING, channel_asked BOOLEAN,"
    " priority LONG, timestamp STRING",
    "answers": "end LONG, rows LONG, limit LONG",
    "claims": "begin LONG, end LONG, process LONG, agent STRING, message STRING, count LONG, until_ms LONG, at_ms LONG",
    "completions": "begin LONG, end LONG, outcome STRING, process LONG, agent STRING, message STRING,"
    " is_error BOOLEAN, status STRING",
    "redriven": "message STRING",
    "messages": "id STRING",
    "letters": "id STRING",
    "about": "is_whole BOOLEAN, dump_at LONG, newest_ms LONG",
}


@dataclass(frozen=True)
class CommsStreams(Frames):
    """See SCHEMAS for the columns. `about` has one row."""

    sends: DataFrame
    received: DataFrame
    answers: DataFrame
    claims: DataFrame
    completions: DataFrame
    redriven: DataFrame
    messages: DataFrame
    letters: DataFrame
    about: DataFrame


def read(spark: SparkSession, path: Path) -> CommsStreams:
    """From a history of JSON Lines, or from a folder of Parquet streams."""
    if path.is_dir():
        return CommsStreams(**parquet(spark, path, SCHEMAS))
    return from_events(events_of(spark, path))


def from_events(events: DataFrame) -> CommsStreams:
    """Pair the calls and take them apart by kind."""
    calls = calls_of(events).withColumn("said", F.json_object_keys("params")).cache()
    received = _answered(calls)
    dump = events.where("op = 'dump' AND type = 'ok'").orderBy(F.desc("index")).limit(1)
    times = calls.where("op <> 'clock.set'").agg(F.max("at_ms").alias("newest_ms"))
    about = events.agg(
        F.coalesce(F.max(F.col("type") == "footer"), F.lit(False)).alias("is_whole"),
        F.max(F.when(F.expr("op = 'dump' AND type = 'ok'"), F.col("index"))).alias("dump_at"),
    )
    redriven = parsed("params", "id STRING").getField("id")
    return CommsStreams(
        sends=_sends(calls),
        received=received.select("end", "agent", "channels", F.posexplode("messages").alias("place", "row")).select(
            "end",
            "agent",
            F.col("place").cast("long").alias("place"),
            "row.id",
            "row.to_agent",
            F.expr("array_contains(channels, row.channel)").alias("channel_asked"),
            "row.priority",
            "row.timestamp",
        ),
        answers=received.select(
            "end", F.size("messages").cast("long").alias("rows"), F.coalesce("limit", F.lit(10)).alias("limit")
        ),
        claims=_claims(calls),
        completions=_completions(calls),
        redriven=calls.where("op = 'redrive'").select(F.split(redriven, ":")[0].alias("message")).distinct(),
        messages=_ids(dump, "messages"),
        letters=_ids(dump, "dead_letter_queue").select(F.split("id", ":")[0].alias("id")),
        about=about.crossJoin(times),
    )


def _sends(calls: DataFrame) -> DataFrame:
    params = parsed(
        "params",
        "message_id STRING, to_agent STRING, channel STRING, ttl_seconds LONG,"
        " original_message STRUCT<from_agent: STRING>",
    )
    is_normal = F.expr("coalesce(p.channel, 'general') <> 'urgent' AND NOT array_contains(said, 'original_message')")
    default_ms = F.when(is_normal, TTL_S * 1000).otherwise(TTL_URGENT_S * 1000)
    has_ttl = F.array_contains("said", F.lit("ttl_seconds"))
    return (
        calls.where(F.col("op").isin(*SENDS))
        .withColumn("p", params)
        .select(
            "begin",
            "end",
            "outcome",
            F.coalesce(parsed("reply", "message_id STRING").getField("message_id"), "p.message_id").alias("id"),
            F.when(F.col("op") == "send_response", F.col("p.original_message.from_agent"))
            .otherwise(F.col("p.to_agent"))
            .alias("to_agent"),
            F.when(has_ttl, F.col("at_ms") + F.col("p.ttl_seconds") * 1000)
            .otherwise(F.col("at_ms") + default_ms)
            .alias("expires_ms"),
            F.array_contains("said", F.lit("message_id")).alias("is_chosen"),
        )
    )


def _answered(calls: DataFrame) -> DataFrame:
    row = "STRUCT<id: STRING, to_agent: STRING, channel: STRING, priority: LONG, timestamp: STRING>"
    return (
        calls.where("op = 'receive_messages' AND outcome = 'ok'")
        .withColumn("r", parsed("reply", f"messages ARRAY<{row}>"))
        .withColumn("p", parsed("params", "channels ARRAY<STRING>, limit LONG"))
        .select("end", "agent", "p.limit", "p.channels", F.coalesce("r.messages", F.array()).alias("messages"))
    )


def _claims(calls: DataFrame) -> DataFrame:
    reply = parsed("reply", "claimed BOOLEAN, delivery_count LONG")
    return (
        calls.where("op = 'claim_message' AND outcome = 'ok'")
        .withColumn("r", reply)
        .where("r.claimed")
        .select(
            "begin",
            "end",
            "process",
            "agent",
            F.col("key").alias("message"),
            F.col("r.delivery_count").alias("count"),
            F.col("lease_until_ms").alias("until_ms"),
            "at_ms",
        )
    )


def _completions(calls: DataFrame) -> DataFrame:
    return calls.where("op = 'complete_message' AND outcome <> 'fail'").select(
        "begin",
        "end",
        "outcome",
        "process",
        "agent",
        F.col("key").alias("message"),
        F.array_contains("said", F.lit("error")).alias("is_error"),
        parsed("reply", "status STRING").getField("status").alias("status"),
    )


def _ids(dump: DataFrame, table: str) -> DataFrame:
    rows = parsed("value", f"{table} ARRAY<STRUCT<id: STRING>>").getField(table)
    return dump.select(F.explode(rows).alias("row")).select("row.id")
