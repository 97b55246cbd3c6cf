"""A history of JSON Lines: its events, if it is whole, and its calls, paired as in `busproof.checks.calls`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F

from busproof.checks.calls import NEVER
from busproof.checks.integrity import Integrity
from busproof.history import MALFORMED, EventType, scan
from busspark.schema import event_schema, required_of_events

_CORRUPT = "_corrupt_record"
_CALLS = "type IN ('invoke', 'ok', 'fail', 'info')"


@dataclass(frozen=True)
class State:
    """An answer that is a whole state: its event, and the process whose rows follow it."""

    index: int
    process: int


@dataclass(frozen=True)
class Lines:
    """What one look at a whole file tells. `damage`: why nothing else can be said of it."""

    events: DataFrame
    calls: DataFrame
    count: int
    is_whole: bool
    dump: State | None
    export: State | None
    damage: str

    def rows_of(self, op: str) -> DataFrame:
        """The rows of the last state of this kind: `table`, `value` as JSON, and `source`, their own event."""
        state = self.dump if op == "dump" else self.export
        found = self.events.where(F.col("type") == "state").where(F.col("op") == op)
        at = state or State(NEVER, 0)
        found = found.where((F.col("index") > at.index) & (F.col("process") == at.process))
        return found.select(F.col("key").alias("table"), "value", F.col("index").alias("source"))


def read(spark: SparkSession, path: Path) -> Lines:
    """Look at each line once."""
    schema = event_schema().add(_CORRUPT, "string")
    lines = (
        spark.read.schema(schema)
        .option("columnNameOfCorruptRecord", _CORRUPT)
        .json(str(path))
        .withColumn("_block", F.col("_metadata.file_block_start"))
        .withColumn("_place", F.monotonically_increasing_id())
        .withColumn("_broken", _is_broken())
    )
    blocks = lines.groupBy("_block").agg(*_seen_of_a_block()).orderBy("_block").collect()
    events = lines.where(~F.col("_broken"))
    calls = _calls(events)
    footer = next((block.footer for block in blocks if block.footer is not None), None)
    is_whole_file = _is_dense(blocks) and _is_counted(blocks, footer) and _is_all_events(blocks, path)
    orphans = 0 if not is_whole_file else calls.where("is_orphan").limit(1).count()
    return Lines(
        events,
        calls.where("NOT is_answer").drop("is_answer", "is_orphan"),
        sum(block.lines - block.broken for block in blocks),
        footer is not None,
        _last(block.dump for block in blocks),
        _last(block.export for block in blocks),
        "" if is_whole_file and not orphans else _damage(path),
    )


def _is_broken() -> Column:
    broken = F.col(_CORRUPT).isNotNull() | ~F.col("type").isin(*get_args(EventType))
    for name in required_of_events():
        broken = broken | F.col(name).isNull()
    return broken


def _seen_of_a_block() -> list[Column]:
    """In a block that is in order and without holes, index and place differ by the same number everywhere."""
    is_event, state = ~F.col("_broken"), F.struct("index", "process")
    index, run = (F.when(is_event, column) for column in (F.col("index"), F.struct("run", "system")))
    shift = index - F.col("_place")
    is_footer, is_state = (is_event & (F.col("type") == name) for name in ("footer", "state"))

    def last(op: str) -> Column:
        return F.max(F.when(is_event & (F.col("op") == op) & (F.col("type") == "ok"), state))

    footer = F.from_json("value", "events LONG, states LONG")
    return [
        F.count("*").alias("lines"),
        F.count_if("_broken").alias("broken"),
        F.min(index).alias("first"),
        F.max(index).alias("last"),
        F.min(shift).alias("least"),
        F.max(shift).alias("most"),
        F.min(run).alias("one"),
        F.max(run).alias("other"),
        F.count_if(is_state).alias("states"),
        F.count_if(is_footer).alias("footers"),
        F.max(F.when(is_footer, F.struct("index", footer.alias("told")))).alias("footer"),
        last("dump").alias("dump"),
        last("read_export").alias("export"),
    ]


def _is_dense(blocks: list[Row]) -> bool:
    """Indexes rise by one from 0, through every block, in one run of one system."""
    expected = 0
    for block in blocks:
        if block.least != block.most or block.first != expected or block.one != block.other:
            return False
        if block.one != blocks[0].one:
            return False
        expected = block.last + 1
    return True


def _is_counted(blocks: list[Row], footer: Row | None) -> bool:
    """The footer, if there is one, comes last, and counts what came before."""
    if footer is None:
        return True
    events, states = (sum(getattr(block, name) for block in blocks) for name in ("lines", "states"))
    is_last = sum(block.footers for block in blocks) == 1 and footer["index"] == blocks[-1].last
    return is_last and footer.told is not None and (footer.told.events, footer.told.states) == (events - 1, states)


def _is_all_events(blocks: list[Row], path: Path) -> bool:
    """At most the last line is broken, and that because the file was cut in the middle of it."""
    broken = sum(block.broken for block in blocks)
    if not broken:
        return True
    with path.open("rb") as file:
        file.seek(-1, 2)
        is_cut = file.read(1) != b"\n"
    return is_cut and broken == 1 and sum(block.lines for block in blocks) == blocks[-1].last + 2


def _damage(path: Path) -> str:
    """In which line it is, in the words of the Python check: Spark has seen that it is there."""
    watched = Integrity()
    for _ in watched.watch(scan(path)):
        pass
    return watched.damage or "Spark finds damage, and Python none: a fault of busproof"


def _last(states: Iterable[Row | None]) -> State | None:
    found = [state for state in states if state is not None]
    return State(found[-1]["index"], found[-1].process) if found else None


def _calls(events: DataFrame) -> DataFrame:
    """An invocation is closed by the next event of its process, if that is of the same operation.

    Answers are kept beside the calls, as `is_answer`, to see which of them answers nothing.
    """
    in_order = Window.partitionBy("process").orderBy("index")
    ending = F.struct("type", "op", "index", "value", "granted", "wall_ms", "lease_until_ms", "code")
    closed = F.expr("next.type <> 'invoke' AND next.op <=> op")
    answered = F.expr("before.type = 'invoke' AND before.op <=> op")
    is_malformed = F.coalesce(F.expr(f"next.type = 'ok' AND next.code = '{MALFORMED}'"), F.lit(False))
    is_told = F.expr("outcome = 'ok' AND NOT is_malformed")
    return (
        events.where(_CALLS)
        .withColumn("next", F.lead(ending).over(in_order))
        .withColumn("before", F.lag(F.struct("type", "op")).over(in_order))
        .withColumn("next", F.when(closed, F.col("next")))
        .withColumn("is_answer", F.col("type") != "invoke")
        .withColumn("is_orphan", F.col("is_answer") & ~F.coalesce(answered, F.lit(False)))
        .withColumn("outcome", F.coalesce("next.type", F.lit("info")))
        .withColumn("is_malformed", is_malformed)
        .select(
            "is_answer",
            "is_orphan",
            F.col("index").alias("begin"),
            F.coalesce("next.index", F.lit(NEVER)).alias("end"),
            F.coalesce("next.index", F.lit(NEVER)).alias("source"),
            "outcome",
            "is_malformed",
            "op",
            "key",
            "seq",
            F.col("token").alias("given_token"),
            "process",
            F.coalesce("agent", F.lit("")).alias("agent"),
            F.col("value").alias("params"),
            F.when(is_told, F.col("next.value")).alias("reply"),
            F.when(is_told, F.col("next.granted")).alias("granted"),
            F.when(F.expr("outcome = 'ok'"), F.col("next.lease_until_ms")).alias("until_ms"),
            F.coalesce("bus_ms", "wall_ms").alias("at_ms_min"),
            F.coalesce("bus_ms", "next.wall_ms", "wall_ms").alias("at_ms"),
        )
    )
