"""The facts of `topics` in Spark."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from busproof.checks.extract.topics import BETWEEN, ITEMS_MAX
from busspark.extract.common import exploded, number_of, parsed, with_missing
from busspark.lines import Lines

_MESSAGE = "STRUCT<seq: LONG, sender: STRING, message_id: STRING>"
_REPLY = f"received ARRAY<{_MESSAGE}>, sent ARRAY<STRUCT<message: {_MESSAGE}>>, cursor STRUCT<last_seq: LONG>"
_PARAMS = (
    "topic_id STRING, outbox ARRAY<STRUCT<client_message_id: STRING>>, max_items LONG, include_self BOOLEAN,"
    " auto_advance BOOLEAN, ack_through LONG"
)


def facts(calls: DataFrame, lines: Lines) -> dict[str, DataFrame]:
    """See busproof.checks.extract.topics."""
    columns = {"p": parsed("params", _PARAMS), "r": parsed("reply", _REPLY), "reader": F.col("agent")}
    moves = calls.where("op IN ('sync', 'cursor_reset')").withColumns(columns)
    moves = moves.withColumn("lane", F.col("p.topic_id")).where("lane IS NOT NULL").cache()
    syncs = moves.where("op = 'sync'")
    answered = syncs.where("outcome = 'ok' AND NOT is_malformed")
    return {
        "appended": _appended(syncs),
        "stored": _stored(lines.rows_of("dump")),
        "reads": _reads(answered),
        "delivered": _delivered(answered),
        "jumps": _jumps(moves),
    }


def _name(sender: str, key: str) -> Column:
    """What a sender calls a message; null without a key."""
    return F.concat(F.col(sender), F.lit(BETWEEN), F.col(key))


def _appended(syncs: DataFrame) -> DataFrame:
    items = exploded(syncs.withColumn("items", F.col("p.outbox")), "items")
    items = items.withColumns({"told": F.expr("get(r.sent, place).message"), "key": F.col("row.client_message_id")})
    return items.select(
        "lane",
        "begin",
        "end",
        "source",
        "outcome",
        _name("reader", "key").alias("name"),
        F.col("told.message_id").alias("id"),
        F.col("told.seq").alias("seq"),
        F.col("reader").alias("sender"),
        F.lit(None).alias("addressee"),
        F.col("key").isNull().alias("is_new"),
        F.lit(None).alias("expires_ms"),
    )


def _reads(answered: DataFrame) -> DataFrame:
    return answered.withColumns(
        {
            "rows": number_of("r.received"),
            "limit": F.expr(f"CASE WHEN coalesce(p.max_items, 0) = 0 THEN {ITEMS_MAX} ELSE p.max_items END"),
            "after": F.col("r.cursor.last_seq"),
            "is_moving": F.expr("coalesce(p.auto_advance, TRUE)"),
            "ack_through": F.col("p.ack_through"),
            "with_own": F.expr("coalesce(p.include_self, FALSE)"),
        }
    )


def _delivered(answered: DataFrame) -> DataFrame:
    rows = exploded(answered.select("end", "source", F.col("r.received").alias("received")), "received")
    rows = rows.select("end", "source", "place", F.col("row.message_id").alias("id"), "row.seq", "row.sender")
    return with_missing(rows, addressee=None, is_asked=True, priority=None, sent_at=None)


def _jumps(moves: DataFrame) -> DataFrame:
    lost = moves.where("op = 'sync' AND (outcome = 'info' OR outcome = 'ok' AND is_malformed)")
    resets = moves.where("op = 'cursor_reset' AND outcome <> 'fail'").withColumn("seq", F.col("r.cursor.last_seq"))
    lost = lost.withColumn("seq", F.lit(None).cast("long"))
    return lost.unionByName(resets).withColumn("is_back", F.col("op") == "cursor_reset")


def _stored(dump: DataFrame) -> DataFrame:
    columns = "topic_id STRING, seq LONG, message_id STRING, sender STRING, client_message_id STRING"
    rows = dump.where("table = 'messages'").select("source", parsed("value", columns).alias("row"))
    rows = rows.select("source", "row.*")
    rows = rows.withColumnsRenamed({"topic_id": "lane", "message_id": "id", "client_message_id": "key"})
    return with_missing(rows.withColumn("name", _name("sender", "key")), addressee=None, is_own=False, is_dead=False)
