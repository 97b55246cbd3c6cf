"""A `worker` history as narrow streams: one DataFrame for each kind of operation, with the columns that checks read.

They are made from JSON Lines, or read from a folder of Parquet files (`busproof audit --convert`, and the generator).
The columns are those of `busproof.checks.facts`, and pair calls in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from busspark.calls import Frames, calls_of, events_of, parquet, parsed

SCHEMAS = {
    "publishes": "begin LONG, end LONG, outcome STRING, id STRING, seq LONG",
    "polls": "begin LONG, end LONG, agent STRING, limit LONG, rows ARRAY<STRUCT<seq: LONG, to_agent: STRING>>",
    "acks": "begin LONG, end LONG, outcome STRING, agent STRING, seq LONG, answer LONG",
    "holds": "begin LONG, end LONG, outcome STRING, op STRING, task STRING, agent STRING, granted BOOLEAN,"
    " token LONG, lease_until_ms LONG, at_ms LONG",
    "stored": "seq LONG, id STRING, to_agent STRING, type STRING",
    "cursors": "agent STRING, last_acked_seq LONG",
    "export": "at LONG, lines ARRAY<LONG>, torn BOOLEAN",
    "redriven": "agent STRING",
    "about": "is_whole BOOLEAN, dump_at LONG",
}


@dataclass(frozen=True)
class Streams(Frames):
    """See SCHEMAS for the columns. `about` has one row."""

    publishes: DataFrame
    polls: DataFrame
    acks: DataFrame
    holds: DataFrame
    stored: DataFrame
    cursors: DataFrame
    export: DataFrame
    redriven: DataFrame
    about: DataFrame


def read(spark: SparkSession, path: Path) -> Streams:
    """From a history of JSON Lines, or from a folder of Parquet streams."""
    if path.is_dir():
        return Streams(**parquet(spark, path, SCHEMAS))
    return from_events(events_of(spark, path))


def from_events(events: DataFrame) -> Streams:
    """Pair the calls and take them apart by kind."""
    calls = calls_of(events).cache()
    of = {op: calls.where(F.col("op") == op) for op in ("publish", "publish_many", "poll", "ack", "redrive")}
    dump = events.where("op = 'dump' AND type = 'ok'").orderBy(F.desc("index")).limit(1)
    return Streams(
        publishes=_publishes(of["publish"]).unionByName(_batches(of["publish_many"])),
        polls=_polls(of["poll"]),
        acks=_acks(of["ack"]),
        holds=_holds(calls),
        stored=_stored(dump),
        cursors=_cursors(dump),
        export=_export(calls),
        redriven=of["redrive"].select("agent").distinct(),
        about=events.agg(
            F.coalesce(F.max(F.col("type") == "footer"), F.lit(False)).alias("is_whole"),
            F.max(F.when(F.expr("op = 'dump' AND type = 'ok'"), F.col("index"))).alias("dump_at"),
        ),
    )


def _publishes(calls: DataFrame) -> DataFrame:
    given = parsed("params", "message STRUCT<id: STRING>").getField("message").getField("id")
    reply = parsed("reply", "id STRING, seq LONG")
    return calls.select(
        "begin",
        "end",
        "outcome",
        F.coalesce(reply.getField("id"), given).alias("id"),
        reply.getField("seq").alias("seq"),
    )


def _batches(calls: DataFrame) -> DataFrame:
    given = parsed("params", "messages ARRAY<STRUCT<id: STRING>>").getField("messages").getField("id")
    reply = parsed("reply", "ids ARRAY<STRING>, seqs ARRAY<LONG>")
    return (
        calls.withColumn("given", given)
        .withColumn("ids", F.coalesce(reply.getField("ids"), "given"))
        .withColumn("seqs", reply.getField("seqs"))
        .select("begin", "end", "outcome", "seqs", F.posexplode("ids").alias("place", "id"))
        .select("begin", "end", "outcome", "id", F.expr("get(seqs, place)").alias("seq"))
    )


def _polls(calls: DataFrame) -> DataFrame:
    rows = parsed("reply", "messages ARRAY<STRUCT<seq: LONG, to_agent: STRING>>").getField("messages")
    limit = parsed("params", "limit LONG").getField("limit")
    return calls.where("outcome = 'ok'").select(
        "begin", "end", "agent", F.coalesce(limit, F.lit(100)).alias("limit"), F.coalesce(rows, F.array()).alias("rows")
    )


def _acks(calls: DataFrame) -> DataFrame:
    answer = parsed("reply", "last_acked_seq LONG").getField("last_acked_seq")
    return calls.where("seq IS NOT NULL").select("begin", "end", "outcome", "agent", "seq", answer.alias("answer"))


def _holds(calls: DataFrame) -> DataFrame:
    reply = parsed("reply", "token LONG, lease_until_ms LONG")
    return calls.where("op IN ('try_claim_task', 'renew_claim', 'release_claim')").select(
        "begin",
        "end",
        "outcome",
        "op",
        F.col("key").alias("task"),
        "agent",
        "granted",
        reply.getField("token").alias("token"),
        reply.getField("lease_until_ms").alias("lease_until_ms"),
        "at_ms",
    )


_ROWS = "ARRAY<STRUCT<seq: LONG, id: STRING, to_agent: STRING, type: STRING>>"


def _stored(dump: DataFrame) -> DataFrame:
    state = parsed("value", f"messages {_ROWS}, archived {_ROWS}")
    nothing = F.expr(f"from_json('[]', '{_ROWS}')")
    rows = F.concat(F.coalesce(state.getField("messages"), nothing), F.coalesce(state.getField("archived"), nothing))
    return dump.select(F.explode(rows).alias("row")).select("row.*")


def _cursors(dump: DataFrame) -> DataFrame:
    rows = parsed("value", "cursors ARRAY<STRUCT<agent_id: STRING, last_acked_seq: LONG>>").getField("cursors")
    return dump.select(F.explode(rows).alias("row")).select(F.col("row.agent_id").alias("agent"), "row.last_acked_seq")


def _export(calls: DataFrame) -> DataFrame:
    reply = parsed("reply", "lines ARRAY<LONG>, torn BOOLEAN")
    last = calls.where("op = 'read_export' AND outcome = 'ok'").orderBy(F.desc("end")).limit(1)
    return last.select(
        F.col("end").alias("at"),
        F.coalesce(reply.getField("lines"), F.array()).alias("lines"),
        F.coalesce(reply.getField("torn"), F.lit(False)).alias("torn"),
    )
