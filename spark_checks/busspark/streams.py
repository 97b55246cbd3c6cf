"""A history as narrow streams: one DataFrame for each kind of operation, with only the columns that its checks read.

They are made from JSON Lines, or read from a folder of Parquet files (`busproof audit --convert`, and the generator).
The columns are those of `busproof.checks.facts`, and pair calls in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from busproof.checks.facts import NEVER
from busspark.schema import event_schema

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
class Streams:
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

    @property
    def spark(self) -> SparkSession:
        """The session that they live in."""
        return self.about.sparkSession

    def cache(self) -> Streams:
        """Read the source once, whatever the number of checks.

        A checkpoint also cuts the plan: with ten levels of parsing in it, every check would be planned for seconds.
        """
        return Streams(**{field.name: getattr(self, field.name).localCheckpoint() for field in fields(self)})

    def write(self, folder: Path) -> None:
        """One Parquet folder a stream."""
        for field in fields(self):
            frame: DataFrame = getattr(self, field.name)
            frame.write.mode("overwrite").option("compression", "zstd").parquet(str(folder / field.name))


def read(spark: SparkSession, path: Path) -> Streams:
    """From a history of JSON Lines, or from a folder of Parquet streams."""
    if path.is_dir():
        return Streams(
            **{name: spark.read.schema(schema).parquet(str(path / name)) for name, schema in SCHEMAS.items()}
        )
    return from_events(spark.read.schema(event_schema()).json(str(path)))


def from_events(events: DataFrame) -> Streams:
    """Pair the calls and take them apart by kind."""
    events = events.where("index IS NOT NULL")
    calls = _calls(events).cache()
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


def _calls(events: DataFrame) -> DataFrame:
    """An invocation is closed by the next event of its process, if that is of the same operation."""
    in_order = Window.partitionBy("process").orderBy("index")
    closing = F.lead(F.struct("type", "op", "index", "value", "granted", "wall_ms")).over(in_order)
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
            "op", "key", "seq", "bus_ms",
            F.coalesce("agent", F.lit("")).alias("agent"),
            F.col("value").alias("params"),
            F.when(F.col("next.type") == "ok", F.col("next.value")).alias("reply"),
            F.col("next.granted").alias("granted"),
            F.coalesce("bus_ms", "next.wall_ms", "wall_ms").alias("at_ms"),
        )
    )  # fmt: skip


def _json(column: str, schema: str) -> Column:
    return F.from_json(column, schema)


def _publishes(calls: DataFrame) -> DataFrame:
    given = _json("params", "message STRUCT<id: STRING>").getField("message").getField("id")
    reply = _json("reply", "id STRING, seq LONG")
    return calls.select(
        "begin",
        "end",
        "outcome",
        F.coalesce(reply.getField("id"), given).alias("id"),
        reply.getField("seq").alias("seq"),
    )


def _batches(calls: DataFrame) -> DataFrame:
    given = _json("params", "messages ARRAY<STRUCT<id: STRING>>").getField("messages").getField("id")
    reply = _json("reply", "ids ARRAY<STRING>, seqs ARRAY<LONG>")
    return (
        calls.withColumn("given", given)
        .withColumn("ids", F.coalesce(reply.getField("ids"), "given"))
        .withColumn("seqs", reply.getField("seqs"))
        .select("begin", "end", "outcome", "seqs", F.posexplode("ids").alias("place", "id"))
        .select("begin", "end", "outcome", "id", F.expr("get(seqs, place)").alias("seq"))
    )


def _polls(calls: DataFrame) -> DataFrame:
    rows = _json("reply", "messages ARRAY<STRUCT<seq: LONG, to_agent: STRING>>").getField("messages")
    limit = _json("params", "limit LONG").getField("limit")
    return calls.where("outcome = 'ok'").select(
        "begin",
        "end",
        "agent",
        F.coalesce(limit, F.lit(100)).alias("limit"),
        F.coalesce(rows, F.array()).alias("rows"),
    )


def _acks(calls: DataFrame) -> DataFrame:
    answer = _json("reply", "last_acked_seq LONG").getField("last_acked_seq")
    return calls.where("seq IS NOT NULL").select(
        "begin", "end", "outcome", "agent", "seq", answer.alias("answer")
    )


def _holds(calls: DataFrame) -> DataFrame:
    reply = _json("reply", "token LONG, lease_until_ms LONG")
    return calls.where("op IN ('try_claim_task', 'renew_claim', 'release_claim')").select(
        "begin", "end", "outcome", "op", F.col("key").alias("task"), "agent", "granted",
        reply.getField("token").alias("token"), reply.getField("lease_until_ms").alias("lease_until_ms"), "at_ms",
    )  # fmt: skip


_ROWS = "ARRAY<STRUCT<seq: LONG, id: STRING, to_agent: STRING, type: STRING>>"


def _stored(dump: DataFrame) -> DataFrame:
    state = _json("value", f"messages {_ROWS}, archived {_ROWS}")
    nothing = F.expr(f"from_json('[]', '{_ROWS}')")
    rows = F.concat(
        F.coalesce(state.getField("messages"), nothing), F.coalesce(state.getField("archived"), nothing)
    )
    return dump.select(F.explode(rows).alias("row")).select("row.*")


def _cursors(dump: DataFrame) -> DataFrame:
    rows = _json("value", "cursors ARRAY<STRUCT<agent_id: STRING, last_acked_seq: LONG>>").getField("cursors")
    return dump.select(F.explode(rows).alias("row")).select(
        F.col("row.agent_id").alias("agent"), "row.last_acked_seq"
    )


def _export(calls: DataFrame) -> DataFrame:
    reply = _json("reply", "lines ARRAY<LONG>, torn BOOLEAN")
    last = calls.where("op = 'read_export' AND outcome = 'ok'").orderBy(F.desc("end")).limit(1)
    return last.select(
        F.col("end").alias("at"),
        F.coalesce(reply.getField("lines"), F.array()).alias("lines"),
        F.coalesce(reply.getField("torn"), F.lit(False)).alias("torn"),
    )
