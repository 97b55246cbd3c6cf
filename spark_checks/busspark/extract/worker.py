"""The facts of `worker` in Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.checks.extract.worker import BUS, HOLDS, OWN_TYPES, POLL_LIMIT
from busspark.extract.common import exploded, number_of, parsed, with_missing
from busspark.lines import Lines


def facts(calls: DataFrame, lines: Lines) -> dict[str, DataFrame]:
    """See busproof.checks.extract.worker."""
    of = {op: calls.where(F.col("op") == op) for op in ("publish", "publish_many", "poll", "ack")}
    polls = _polls(of["poll"])
    jumps = calls.where("op IN ('redrive', 'process_loop') AND outcome <> 'fail'")
    answer = parsed("reply", "last_acked_seq LONG").getField("last_acked_seq")
    acked = of["ack"].where("seq IS NOT NULL").withColumn("answer", answer).withColumn("reader", F.col("agent"))
    dump = lines.rows_of("dump")
    made = {
        "appended": _published(of["publish"]).unionByName(_batches(of["publish_many"])),
        "stored": _stored(dump),
        "reads": polls.withColumn("rows", number_of("messages")),
        "delivered": _delivered(polls),
        "jumps": jumps.withColumns({"reader": F.col("agent"), "seq": F.lit(None), "is_back": F.col("op") == "redrive"}),
        "acked": acked,
        "positions": _positions(dump),
        "holds": _holds(calls),
    }
    made = {name: with_missing(frame, lane=BUS) for name, frame in made.items()}
    return {**made, **_exported(lines)}


def _published(calls: DataFrame) -> DataFrame:
    given = parsed("params", "message STRUCT<id: STRING>").getField("message").getField("id")
    reply = parsed("reply", "id STRING, seq LONG")
    columns = {"given": given, "told": reply.getField("id"), "seq": reply.getField("seq")}
    return _appended(calls.withColumns(columns))


def _batches(calls: DataFrame) -> DataFrame:
    given = parsed("params", "messages ARRAY<STRUCT<id: STRING>>").getField("messages")
    reply = parsed("reply", "ids ARRAY<STRING>, seqs ARRAY<LONG>")
    each = exploded(calls.withColumns({"given": given, "r": reply}), "given")
    columns = {"given": F.col("row.id"), "told": F.expr("get(r.ids, place)"), "seq": F.expr("get(r.seqs, place)")}
    return _appended(each.withColumns(columns))


def _appended(calls: DataFrame) -> DataFrame:
    return calls.select(
        "begin",
        "end",
        "source",
        "outcome",
        F.lit(None).alias("name"),
        F.coalesce("told", "given").alias("id"),
        "seq",
        F.col("agent").alias("sender"),
        F.lit(None).alias("addressee"),
        F.col("given").isNull().alias("is_new"),
        F.lit(None).alias("expires_ms"),
    )


def _polls(calls: DataFrame) -> DataFrame:
    rows = parsed("reply", "messages ARRAY<STRUCT<id: STRING, seq: LONG, to_agent: STRING>>").getField("messages")
    limit = F.coalesce(parsed("params", "limit LONG").getField("limit"), F.lit(POLL_LIMIT))
    answered = calls.where("outcome = 'ok' AND NOT is_malformed")
    answered = answered.withColumns({"messages": rows, "limit": limit, "reader": F.col("agent")})
    return with_missing(answered, after=None, is_moving=False, ack_through=None, with_own=True)


def _delivered(polls: DataFrame) -> DataFrame:
    rows = exploded(polls.select("end", "source", "messages"), "messages")
    rows = rows.select("end", "source", "place", "row.id", "row.seq", F.col("row.to_agent").alias("addressee"))
    return with_missing(rows, sender=None, is_asked=True, priority=None, sent_at=None)


def _holds(calls: DataFrame) -> DataFrame:
    reply = parsed("reply", "token LONG, lease_until_ms LONG")
    op = F.create_map(*[F.lit(name) for pair in HOLDS.items() for name in pair])[F.col("op")]
    given = F.when(F.col("op") == "try_claim_task", reply.getField("token")).otherwise(F.col("given_token"))
    columns = {
        "holder": F.col("agent"),
        "token": given,
        "until_ms": reply.getField("lease_until_ms"),
        "is_final": F.lit(False),
    }
    return calls.where(F.col("op").isin(*HOLDS)).where("key IS NOT NULL").withColumns(columns).withColumn("op", op)


def _stored(dump: DataFrame) -> DataFrame:
    row = parsed("value", "seq LONG, id STRING, to_agent STRING, type STRING")
    rows = dump.where("table IN ('messages', 'archived')").select("source", row.alias("row"))
    is_own = F.coalesce(F.col("row.type").isin(*OWN_TYPES), F.lit(False)).alias("is_own")
    rows = rows.select("source", "row.id", "row.seq", F.col("row.to_agent").alias("addressee"), is_own)
    return with_missing(rows, name=None, sender=None, is_dead=False)


def _positions(dump: DataFrame) -> DataFrame:
    row = parsed("value", "agent_id STRING, last_acked_seq LONG")
    rows = dump.where("table = 'cursors'").select("source", row.alias("row"))
    return rows.select("source", F.col("row.agent_id").alias("reader"), F.col("row.last_acked_seq").alias("seq"))


def _exported(lines: Lines) -> dict[str, DataFrame]:
    if lines.export is None:
        return {}
    rows = lines.rows_of("read_export").where("table = 'lines'")
    last = lines.events.where(F.col("index") == lines.export.index)
    torn = F.coalesce(parsed("value", "torn BOOLEAN").getField("torn"), F.lit(False))
    # Text that looks like a number is none: its JSON has quotes.
    seq = F.expr("CASE WHEN value RLIKE '^-?[0-9]+$' THEN try_cast(value AS LONG) END")
    return {
        "exported": rows.select("source", F.col("source").alias("place"), seq.alias("seq")),
        "exports": last.select(F.col("index").alias("source"), F.col("index").alias("at"), torn.alias("torn")),
    }
