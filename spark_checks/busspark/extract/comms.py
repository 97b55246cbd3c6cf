"""The facts of `comms` in Spark."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from busproof.checks.extract.comms import BUS, RECEIVE_LIMIT, SENDS, TTL_S, TTL_URGENT_S
from busspark.extract.common import exploded, number_of, parsed, with_missing
from busspark.lines import Lines

_PARAMS = (
    "message_id STRING, to_agent STRING, channel STRING, ttl_seconds LONG, original_message STRUCT<from_agent: STRING>"
)
_ROW = "STRUCT<id: STRING, to_agent: STRING, channel: STRING, priority: LONG, timestamp: STRING>"


def facts(calls: DataFrame, lines: Lines) -> dict[str, DataFrame]:
    """See busproof.checks.extract.comms."""
    calls = calls.withColumn("said", F.json_object_keys("params"))
    received = _received(calls)
    letter = parsed("params", "id STRING").getField("id")
    return {
        "appended": _appended(calls),
        "stored": _stored(lines.rows_of("dump")),
        "reads": received.withColumn("rows", number_of("messages")),
        "delivered": _delivered(received),
        "holds": _claims(calls).unionByName(_completions(calls)),
        "failed": _failed(calls),
        "redriven": calls.where("op = 'redrive'").select(
            "source", F.split(F.coalesce(letter, F.lit("")), ":")[0].alias("key")
        ),
    }


def _said(name: str) -> Column:
    return F.coalesce(F.array_contains("said", F.lit(name)), F.lit(False))


def _appended(calls: DataFrame) -> DataFrame:
    is_normal = F.expr("coalesce(p.channel, 'general') <> 'urgent'") & ~_said("original_message")
    default_ms = F.when(is_normal, TTL_S * 1000).otherwise(TTL_URGENT_S * 1000)
    ttl_ms = F.when(_said("ttl_seconds"), F.col("p.ttl_seconds") * 1000).otherwise(default_ms)
    told = parsed("reply", "message_id STRING").getField("message_id")
    to = F.when(F.col("op") == "send_response", F.col("p.original_message.from_agent")).otherwise(F.col("p.to_agent"))
    return (
        calls.where(F.col("op").isin(*SENDS))
        .withColumn("p", parsed("params", _PARAMS))
        .select(
            F.lit(BUS).alias("lane"),
            "begin",
            "end",
            "source",
            "outcome",
            F.lit(None).alias("name"),
            F.coalesce(told, "p.message_id").alias("id"),
            F.lit(None).alias("seq"),
            F.col("agent").alias("sender"),
            to.alias("addressee"),
            F.col("p.message_id").isNull().alias("is_new"),
            (F.col("at_ms") + ttl_ms).alias("expires_ms"),
        )
    )


def _received(calls: DataFrame) -> DataFrame:
    answered = (
        calls.where("op = 'receive_messages' AND outcome = 'ok' AND NOT is_malformed")
        .withColumn("messages", parsed("reply", f"messages ARRAY<{_ROW}>").getField("messages"))
        .withColumn("p", parsed("params", "channels ARRAY<STRING>, limit LONG"))
        .withColumns(
            {
                "lane": F.col("agent"),
                "reader": F.col("agent"),
                "limit": F.coalesce("p.limit", F.lit(RECEIVE_LIMIT)),
                "channels": F.col("p.channels"),
            }
        )
    )
    return with_missing(answered, after=None, is_moving=False, ack_through=None, with_own=True)


def _delivered(received: DataFrame) -> DataFrame:
    is_asked = "CASE WHEN row.channel IS NOT NULL THEN coalesce(array_contains(channels, row.channel), FALSE) END"
    rows = exploded(received.select("end", "source", "channels", "messages"), "messages").select(
        "end",
        "source",
        "place",
        "row.id",
        F.col("row.to_agent").alias("addressee"),
        F.expr(is_asked).alias("is_asked"),
        "row.priority",
        F.col("row.timestamp").alias("sent_at"),
    )
    return with_missing(rows, seq=None, sender=None)


def _claims(calls: DataFrame) -> DataFrame:
    reply = parsed("reply", "claimed BOOLEAN, delivery_count LONG")
    claims = calls.where("op = 'claim_message' AND outcome <> 'fail' AND key IS NOT NULL")
    columns = {"granted": reply.getField("claimed"), "token": reply.getField("delivery_count")}
    return _holds(claims.withColumns(columns), "claim", F.col("until_ms"), F.lit(False))


def _completed(calls: DataFrame) -> DataFrame:
    status = parsed("reply", "status STRING").getField("status")
    return calls.where("op = 'complete_message' AND outcome <> 'fail' AND key IS NOT NULL").withColumn("status", status)


def _completions(calls: DataFrame) -> DataFrame:
    columns = {"granted": F.expr("CASE WHEN outcome = 'ok' THEN TRUE END"), "token": F.lit(None).cast("long")}
    is_final = F.expr("coalesce(status = 'done', FALSE)")
    return _holds(_completed(calls).withColumns(columns), "release", F.lit(None).cast("long"), is_final)


def _holds(calls: DataFrame, op: str, until_ms: Column, is_final: Column) -> DataFrame:
    return calls.select(
        F.col("agent").alias("lane"),
        "begin",
        "end",
        "source",
        "outcome",
        F.lit(op).alias("op"),
        "key",
        F.col("agent").alias("holder"),
        "granted",
        "token",
        until_ms.alias("until_ms"),
        "at_ms_min",
        "at_ms",
        is_final.alias("is_final"),
    )


def _failed(calls: DataFrame) -> DataFrame:
    failed = _completed(calls).where(_said("error")).where("coalesce(status, '') <> 'done'")
    is_counted = F.expr("outcome = 'ok' AND status IS NOT NULL")
    return failed.select("source", F.col("agent").alias("lane"), "key", "begin", is_counted.alias("is_counted"))


def _stored(dump: DataFrame) -> DataFrame:
    is_dead = F.col("table") == "dead_letter_queue"
    id_ = parsed("value", "id STRING").getField("id")
    rows = dump.where("table IN ('messages', 'dead_letter_queue')").select(
        "source", F.when(is_dead, F.split(id_, ":")[0]).otherwise(id_).alias("id"), is_dead.alias("is_dead")
    )
    return with_missing(rows, lane=BUS, name=None, seq=None, sender=None, addressee=None, is_own=False)
