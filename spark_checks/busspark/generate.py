"""Large histories, made by Spark itself: valid by construction, with faults planted where one is told to.

Message i is published in the events 64 i and 64 i + 1; eight readers poll a hundred at a time and acknowledge; each
message comes with a claim, a renewal and a release of one of fifty tasks. A planted fault changes one place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from busspark.streams import SCHEMAS, Streams

STRIDE = 64
READERS = 8
TASKS = 50
LEASE_MS = 60_000
T0_MS = 1_768_053_600_000
POLL_LIMIT = 100


def valid(spark: SparkSession, messages: int) -> Streams:
    """About 9.2 events a message."""
    dump_at = STRIDE * (messages + 2)
    base = spark.range(messages).withColumnRenamed("id", "i")
    stored = base.selectExpr(
        "i + 1 AS seq",
        "concat('m', i) AS id",
        f"CASE WHEN i % 10 < {READERS} THEN concat('r', i % 10) END AS to_agent",
        "'note' AS type",
    )
    polls = _polls(stored)
    acks = polls.selectExpr(
        "end + 1 AS begin",
        "end + 2 AS end",
        "'ok' AS outcome",
        "agent",
        "rows[size(rows) - 1].seq AS seq",
        "rows[size(rows) - 1].seq AS answer",
    )
    return Streams(
        publishes=base.selectExpr(
            f"{STRIDE} * i AS begin",
            f"{STRIDE} * i + 1 AS end",
            "'ok' AS outcome",
            "concat('m', i) AS id",
            "i + 1 AS seq",
        ),
        polls=polls,
        acks=acks,
        holds=_holds(base),
        stored=stored,
        cursors=acks.groupBy("agent").agg(F.max("seq").alias("last_acked_seq")),
        export=spark.range(1).selectExpr(
            f"CAST({dump_at - 10} AS LONG) AS at", f"sequence(1L, CAST({messages} AS LONG)) AS lines", "FALSE AS torn"
        ),
        redriven=spark.createDataFrame([], SCHEMAS["redriven"]),
        about=spark.createDataFrame([(True, dump_at)], SCHEMAS["about"]),
    )


def _polls(stored: DataFrame) -> DataFrame:
    """Every reader's view, a hundred at a time, each poll just after its last message was published."""
    readers = F.array(*[F.lit(f"r{n}") for n in range(READERS)])
    view = stored.withColumn(
        "agent", F.explode(F.when(F.col("to_agent").isNull(), readers).otherwise(F.array("to_agent")))
    )
    place = F.row_number().over(Window.partitionBy("agent").orderBy("seq")) - 1
    batches = view.withColumn("batch", F.floor(place / POLL_LIMIT)).groupBy("agent", "batch")
    rows = batches.agg(F.sort_array(F.collect_list(F.struct("seq", "to_agent"))).alias("rows"))
    slot = f"{STRIDE} * (rows[size(rows) - 1].seq - 1) + 2 + 4 * CAST(substr(agent, 2) AS LONG)"
    return rows.selectExpr(
        f"{slot} AS begin", f"{slot} + 1 AS end", "agent", f"CAST({POLL_LIMIT} AS LONG) AS limit", "rows"
    )


def _holds(base: DataFrame) -> DataFrame:
    """Claim, renew, release: one agent after the other, tokens rising by one."""
    ops = "array('try_claim_task', 'renew_claim', 'release_claim')"
    steps = base.selectExpr("i", f"posexplode({ops}) AS (step, op)")
    until = f"CASE WHEN op <> 'release_claim' THEN {T0_MS} + i + {LEASE_MS} END"
    return steps.selectExpr(
        f"{STRIDE} * i + 40 + 2 * step AS begin",
        f"{STRIDE} * i + 41 + 2 * step AS end",
        "'ok' AS outcome",
        "op",
        f"concat('t', i % {TASKS}) AS task",
        f"concat('w', (i DIV {TASKS}) % 7) AS agent",
        "TRUE AS granted",
        f"CASE WHEN op = 'try_claim_task' THEN i DIV {TASKS} + 1 END AS token",
        f"{until} AS lease_until_ms",
        f"{T0_MS} + i AS at_ms",
    )


def _set(frame: DataFrame, where: str, **values: str) -> DataFrame:
    for name, expression in values.items():
        frame = frame.withColumn(name, F.when(F.expr(where), F.expr(expression)).otherwise(F.col(name)))
    return frame


def _plant_late(s: Streams, at: int) -> Streams:
    """Message `at` is published a thousand messages later than its seq says."""
    where, later = f"seq = {at}", STRIDE * 1000 + 50
    return replace(s, publishes=_set(s.publishes, where, begin=f"begin + {later}", end=f"end + {later}"))


# kind of violation → how to plant one near message `at`
PLANTS: dict[str, Callable[[Streams, int], Streams]] = {
    "order_reversed": _plant_late,
    "seq_doubled": lambda s, at: replace(s, publishes=_set(s.publishes, f"seq = {at}", seq=f"CAST({at - 1} AS LONG)")),
    "lost": lambda s, at: replace(s, stored=s.stored.where(f"seq <> {at}")),
    "phantom": lambda s, at: replace(s, publishes=s.publishes.where(f"seq <> {at}")),
    "skipped": lambda s, at: replace(s, polls=_set(s.polls, _holds_seq(at), rows=f"filter(rows, r -> r.seq <> {at})")),
    "misdelivered": lambda s, at: replace(
        s,
        polls=_set(
            s.polls, _holds_seq(at), rows="transform(rows, r -> named_struct('seq', r.seq, 'to_agent', 'else'))"
        ),
    ),
    "redelivered": lambda s, at: replace(
        s, polls=_set(s.polls, _holds_seq(at), rows="concat(array(named_struct('seq', 1L, 'to_agent', agent)), rows)")
    ),
    "ack_went_back": lambda s, at: replace(s, acks=_set(s.acks, f"seq BETWEEN {at} AND {at + 300}", answer="0L")),
    "cursor_lost": lambda s, at: replace(s, cursors=_set(s.cursors, "agent = 'r1'", last_acked_seq=f"{at}L")),
    "overlap": lambda s, at: replace(s, holds=s.holds.where(f"NOT (op = 'release_claim' AND at_ms = {T0_MS} + {at})")),
    "token_not_rising": lambda s, at: replace(
        s, holds=_set(s.holds, f"op = 'try_claim_task' AND at_ms = {T0_MS} + {at}", token="1L")
    ),
    "export_doubled": lambda s, at: replace(
        s, export=s.export.withColumn("lines", F.expr(f"concat(lines, array({at}L))"))
    ),
    "export_missing": lambda s, at: replace(
        s, export=s.export.withColumn("lines", F.expr(f"array_remove(lines, {at}L)"))
    ),
}


def _holds_seq(at: int) -> str:
    return f"exists(rows, r -> r.seq = {at}) AND agent = 'r{(at - 1) % 10}'"


def events(streams: Streams) -> int:
    """How many events such a history has: two for each call."""
    calls: Any = sum(frame.count() for frame in (streams.publishes, streams.polls, streams.acks, streams.holds))
    return int(2 * calls)
