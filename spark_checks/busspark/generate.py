"""Large histories, made by Spark itself: valid by construction, with faults planted where one is told to.

Message i is published in the events 64 i and 64 i + 1; eight readers poll a hundred at a time and acknowledge; each
message comes with a claim, a renewal and a release of one of fifty tasks. A planted fault changes one place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from busproof.checks.facts import FACTS
from busspark.frames import Frames
from busspark.schema import fact_schema

STRIDE = 64
READERS = 8
TASKS = 50
LEASE_MS = 60_000
T0_MS = 1_768_053_600_000
POLL_LIMIT = 100


def valid(spark: SparkSession, messages: int) -> Frames:
    """About 8.1 events a message."""
    dump_at = STRIDE * (messages + 2)
    base = spark.range(messages).withColumnRenamed("id", "i")
    to = f"CASE WHEN i % 10 < {READERS} THEN concat('r', i % 10) END AS addressee"
    stored = base.selectExpr("i + 1 AS seq", "concat('m', i) AS id", to, "FALSE AS is_own", "FALSE AS is_dead")
    reads, delivered = _polls(stored)
    acked = reads.selectExpr(
        "reader", "end + 1 AS begin", "end + 2 AS end", "'ok' AS outcome", "most AS seq", "most AS answer"
    )
    made = {
        "appended": base.selectExpr(
            f"{STRIDE} * i AS begin",
            f"{STRIDE} * i + 1 AS end",
            "'ok' AS outcome",
            "concat('m', i) AS id",
            "i + 1 AS seq",
            "'p' AS sender",
            "FALSE AS is_new",
        ),
        "stored": stored,
        "reads": reads,
        "delivered": delivered,
        "acked": acked,
        "positions": acked.groupBy("reader").agg(F.max("seq").alias("seq")),
        "holds": _holds(base),
        "exported": base.selectExpr("i AS place", "i + 1 AS seq"),
        "exports": spark.range(1).selectExpr(f"{dump_at - 10}L AS at", "FALSE AS torn"),
        "about": spark.range(1).selectExpr("TRUE AS is_whole", f"{dump_at}L AS dump_at", f"{8 * messages}L AS lines"),
    }
    return Frames(spark, "worker", {name: _as_fact(frame, FACTS[name]) for name, frame in made.items()})


def _as_fact(frame: DataFrame, fact: type) -> DataFrame:
    """Its columns; the lane is the bus, and what else is not there is null."""
    frame = frame.withColumn("lane", F.lit(""))
    return frame.select(
        *[
            (F.col(field.name) if field.name in frame.columns else F.lit(None)).cast(field.dataType).alias(field.name)
            for field in fact_schema(fact)
        ]
    )


def _polls(stored: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Every reader's view, a hundred at a time, each poll just after its last message was published."""
    readers = F.array(*[F.lit(f"r{n}") for n in range(READERS)])
    to = F.when(F.col("addressee").isNull(), readers).otherwise(F.array("addressee"))
    place = F.row_number().over(Window.partitionBy("reader").orderBy("seq")) - 1
    view = stored.withColumn("reader", F.explode(to)).withColumn("place", place)
    of_batch = Window.partitionBy("reader", "batch")
    view = view.withColumn("batch", F.floor(F.col("place") / POLL_LIMIT)).withColumn(
        "most", F.max("seq").over(of_batch)
    )
    slot = f"{STRIDE} * (most - 1) + 2 + 4 * CAST(substr(reader, 2) AS LONG)"
    view = view.withColumn("begin", F.expr(slot)).withColumn("end", F.expr(f"{slot} + 1"))
    reads = view.groupBy("reader", "begin", "end", "most").agg(F.count("*").alias("rows"))
    delivered = view.selectExpr("end", f"place % {POLL_LIMIT} AS place", "id", "seq", "addressee", "TRUE AS is_asked")
    constants = (f"{POLL_LIMIT} AS limit", "FALSE AS is_moving", "TRUE AS with_own")
    return reads.selectExpr("*", *constants), delivered


def _holds(base: DataFrame) -> DataFrame:
    """Claim, renew, release: one agent after the other, tokens rising by one."""
    steps = base.selectExpr("i", "posexplode(array('claim', 'renew', 'release')) AS (step, op)")
    return steps.selectExpr(
        f"{STRIDE} * i + 40 + 2 * step AS begin",
        f"{STRIDE} * i + 41 + 2 * step AS end",
        "'ok' AS outcome",
        "op",
        f"concat('t', i % {TASKS}) AS key",
        f"concat('w', (i DIV {TASKS}) % 7) AS holder",
        "TRUE AS granted",
        f"CASE WHEN op = 'claim' THEN i DIV {TASKS} + 1 END AS token",
        f"CASE WHEN op <> 'release' THEN {T0_MS} + i + {LEASE_MS} END AS until_ms",
        f"{T0_MS} + i AS at_ms",
        f"{T0_MS} + i AS at_ms_min",
        "FALSE AS is_final",
    )


def _set(frame: DataFrame, where: str, **values: str) -> DataFrame:
    for name, expression in values.items():
        frame = frame.withColumn(name, F.when(F.expr(where), F.expr(expression)).otherwise(F.col(name)))
    return frame


def _with(frames: Frames, **streams: DataFrame) -> Frames:
    return replace(frames, streams={**frames.streams, **streams})


def _plant_late(s: Frames, at: int) -> Frames:
    """Message `at` is published a thousand messages later than its seq says."""
    where, later = f"seq = {at}", STRIDE * 1000 + 50
    return _with(s, appended=_set(s.appended, where, begin=f"begin + {later}", end=f"end + {later}"))


def _plant_refusal(s: Frames, at: int) -> Frames:
    """A claim of another is refused though the lease of message `at` was given back."""
    late = s.holds.where(f"op = 'release' AND at_ms = {T0_MS} + {at}")
    moved = {name: F.col(name) + 4 for name in ("begin", "end")}
    late = late.withColumns({"op": F.lit("claim"), "holder": F.lit("late"), "granted": F.lit(False), **moved})
    return _with(s, holds=s.holds.unionByName(late))


def _plant_hold(op: str, at: int, **values: str) -> Callable[[Frames], Frames]:
    return lambda s: _with(s, holds=_set(s.holds, f"op = '{op}' AND at_ms = {T0_MS} + {at}", **values))


# The agent that held the task before this one.
_BEFORE = "concat('w', (CAST(substr(holder, 2) AS INT) + 6) % 7)"

# kind of violation → how to plant one near message `at`
PLANTS: dict[str, Callable[[Frames, int], Frames]] = {
    "order_reversed": _plant_late,
    "seq_doubled": lambda s, at: _with(s, appended=_set(s.appended, f"seq = {at}", seq=f"CAST({at - 1} AS LONG)")),
    "lost": lambda s, at: _with(s, stored=s.stored.where(f"seq <> {at}")),
    "phantom": lambda s, at: _with(s, appended=s.appended.where(f"seq <> {at}")),
    "skipped": lambda s, at: _with(s, delivered=s.delivered.where(f"seq <> {at}")),
    "misdelivered": lambda s, at: _with(s, delivered=_set(s.delivered, f"seq = {at}", addressee="'else'")),
    "delivered_otherwise": lambda s, at: _with(s, delivered=_set(s.delivered, f"seq = {at}", id="'else'")),
    "redelivered": lambda s, at: _with(s, delivered=_set(s.delivered, f"seq = {at}", seq="1L")),
    "ack_went_back": lambda s, at: _with(s, acked=_set(s.acked, f"seq BETWEEN {at} AND {at + 300}", answer="0L")),
    "cursor_lost": lambda s, at: _with(s, positions=_set(s.positions, "reader = 'r1'", seq=f"{at}L")),
    "cursor_ahead": lambda s, at: _with(s, positions=_set(s.positions, "reader = 'r2'", seq=f"seq + {at}")),
    "overlap": lambda s, at: _with(s, holds=s.holds.where(f"NOT (op = 'release' AND at_ms = {T0_MS} + {at})")),
    "token_not_rising": lambda s, at: _plant_hold("claim", at, token="1L")(s),
    "refused_though_free": _plant_refusal,
    "renewed_not_held": lambda s, at: _plant_hold("renew", at, holder="'else'")(s),
    "released_after_retake": lambda s, at: _plant_hold("release", at, holder=_BEFORE)(s),
    "export_doubled": lambda s, at: _with(s, exported=_set(s.exported, f"seq = {at}", seq=f"{at - 1}L")),
    "export_missing": lambda s, at: _with(s, exported=s.exported.where(f"seq <> {at}")),
    "export_of_nothing": lambda s, at: _with(s, stored=s.stored.where(f"seq <> {at}")),
}


def events(frames: Frames) -> int:
    """How many events such a history has: two for each call."""
    return 2 * sum(frame.count() for frame in (frames.appended, frames.reads, frames.acked, frames.holds))
