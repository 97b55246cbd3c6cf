"""syncs in Spark: each sync beside the reader's last step; what a cursor passes against the log."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from busproof.checks.facts import About
from busproof.checks.verdict import Verdict, judged
from busspark.checks.answers import answers, neighbours
from busspark.checks.asof import before
from busspark.checks.collect import violations, witnesses
from busspark.frames import Frames

READER = ["lane", "reader"]


def check(frames: Frames, about: About) -> Verdict:
    """See busproof.checks.syncs, which says why."""
    got = frames.delivered.join(frames.reads.select("end", *READER, "with_own"), "end")
    syncs = _followed(frames).cache()
    again = syncs.where("is_known").join(frames.delivered.select("end", "seq"), "end").where("seq <= earlier")
    back = syncs.where("is_known AND NOT is_moving AND after < earlier")
    found = [
        violations(neighbours(frames, "seq").where("next.seq <= seq"), "unordered", ["end"], "seq", "next.seq"),
        violations(got.where("NOT with_own AND sender = reader"), "own_message", ["end"], "seq"),
        violations(frames.reads.where("rows > limit"), "over_limit", ["end"], "rows", "limit"),
        violations(again, "redelivered", ["end"], "seq", "earlier"),
        violations(back, "cursor_moved", ["end"], "after", "earlier"),
        *_passed_over(frames, syncs),
        _stale(frames, syncs),
    ]
    if about.dump_at is not None:
        found.append(_otherwise(frames, got))
    return judged("syncs", witnesses(*found), frames.reads.count(), about.unknown_because or about.no_dump)


def _followed(frames: Frames) -> DataFrame:
    """Syncs with the cursor `earlier`, what they `passed`, and whether the reader's cursor is known at all."""
    lost_resets = frames.jumps.where("is_back AND seq IS NULL").select(*READER).distinct()
    resets = frames.jumps.where("is_back AND seq IS NOT NULL").selectExpr(*READER, "end", "seq AS stands")
    syncs = answers(frames).withColumn("stands", F.coalesce("after", F.lit(0)))
    steps = syncs.unionByName(resets, allowMissingColumns=True)
    stood = F.coalesce(F.lag("stands").over(Window.partitionBy(*READER).orderBy("end")), F.lit(0))
    moved = F.when(F.col("is_moving"), F.col("after")).otherwise(F.lit(0))
    return (
        steps.withColumn("stood", stood)
        .where("begin IS NOT NULL")
        .withColumn("earlier", F.greatest("stood", F.coalesce("ack_through", F.lit(0))))
        .withColumn("passed", F.greatest(F.coalesce("most", moved), moved))
        .join(lost_resets.withColumn("is_known", F.lit(False)), READER, "left")
        .withColumn("is_known", F.coalesce("is_known", F.lit(True)))
    )


def _passed_over(frames: Frames, syncs: DataFrame) -> list[DataFrame]:
    """Within an answer nothing goes; before it, lost syncs may explain as many gaps as there are of them."""
    low = F.expr("CASE WHEN NOT is_known THEN least WHEN least IS NULL THEN earlier ELSE least(earlier, least) END")
    spans = syncs.withColumn("low", low).where("low IS NOT NULL AND passed > low")
    missing = (
        _between(frames, spans)
        .where("NOT array_contains(seqs, seq) AND (with_own OR sender <> reader)")
        .withColumn("is_within", F.coalesce(F.col("seq") > F.col("least"), F.lit(False)))
        .where("is_within OR seq > earlier")
    )
    within = missing.where("is_within")
    gaps = missing.where("NOT is_within AND is_known")
    ahead = syncs.where("is_known AND NOT is_moving AND after > earlier")
    unexplained = _unexplained(frames, gaps.select(*READER, "end").unionByName(ahead.select(*READER, "end")))
    return [
        violations(within, "skipped", ["end"], "seq", "passed"),
        violations(gaps.join(unexplained, "end", "left_semi"), "skipped", ["end"], "seq", "passed"),
        violations(ahead.join(unexplained, "end", "left_semi"), "cursor_moved", ["end"], "after", "earlier"),
    ]


def _between(frames: Frames, spans: DataFrame) -> DataFrame:
    """Each span with every message of its log above `low` and up to `passed`.

    By their places in the log: how far a cursor runs is the bus's choice, how long the log is is not.
    """
    place = F.row_number().over(Window.partitionBy("lane").orderBy("seq")).cast("long")
    log = frames.stored.select("lane", "seq", "sender").withColumn("place", place)
    # Times are doubled, so that half a step above a seq asks for "up to and including".
    entries = log.selectExpr("lane", "2 * seq AS time", "place AS value")
    bounded = spans
    for edge in ("low", "passed"):
        asked = bounded.withColumn("time", 2 * F.col(edge) + 1)
        found = before(entries, asked, ["lane"]).withColumn(f"upto_{edge}", F.coalesce("best", F.lit(0).cast("long")))
        bounded = found.drop("time", "best")
    places = F.explode(F.expr("sequence(upto_low + 1, upto_passed)")).alias("place")
    return bounded.where("upto_passed > upto_low").select("*", places).join(log, ["lane", "place"])


def _unexplained(frames: Frames, gaps: DataFrame) -> DataFrame:
    """Gaps that are one too many: their number less that of lost syncs reaches a new height, above zero."""
    gaps = gaps.distinct().selectExpr(*READER, "end AS time", "end AS gap")
    lost = frames.jumps.where("NOT is_back").selectExpr(*READER, "begin AS time", "CAST(NULL AS LONG) AS gap")
    in_time = Window.partitionBy(*READER).orderBy("time").rowsBetween(Window.unboundedPreceding, 0)
    excess = F.sum(F.when(F.col("gap").isNotNull(), 1).otherwise(-1)).over(in_time)
    steps = gaps.unionByName(lost).withColumn("excess", excess).where("gap IS NOT NULL")
    earlier = F.max("excess").over(
        Window.partitionBy(*READER).orderBy("time").rowsBetween(Window.unboundedPreceding, -1)
    )
    steps = steps.withColumn("height", F.greatest(earlier, F.lit(0)))
    return steps.where("excess > height").select(F.col("gap").alias("end"))


def _otherwise(frames: Frames, got: DataFrame) -> DataFrame:
    stored = frames.stored.select("lane", "seq", "id", "sender")
    strange = got.where("id IS NOT NULL").join(stored, ["lane", "seq", "id", "sender"], "left_anti")
    return violations(strange, "delivered_otherwise", ["end"], "seq")


def _stale(frames: Frames, syncs: DataFrame) -> DataFrame:
    """For each reader, acknowledged messages and its syncs in one line of time."""
    readers = frames.reads.select(*READER).distinct()
    sent = (
        frames.appended.where("outcome = 'ok' AND seq IS NOT NULL")
        .join(readers, "lane")
        .selectExpr(
            *READER,
            "end AS at",
            "seq AS any_seq",
            "CASE WHEN sender <> reader THEN seq END AS other_seq",
            "CAST(NULL AS LONG) AS sync",
        )
    )
    nothing = ("CAST(NULL AS LONG) AS any_seq", "CAST(NULL AS LONG) AS other_seq")
    asked = frames.reads.selectExpr(*READER, "begin AS at", *nothing, "end AS sync")
    so_far = Window.partitionBy(*READER).orderBy("at").rowsBetween(Window.unboundedPreceding, 0)
    seen = (
        sent.unionByName(asked)
        .withColumn("any_newest", F.max("any_seq").over(so_far))
        .withColumn("other_newest", F.max("other_seq").over(so_far))
        .where("sync IS NOT NULL")
        .selectExpr("sync AS end", "any_newest", "other_newest")
    )
    late = (
        syncs.where("is_moving AND rows < limit")
        .join(seen, "end")
        .withColumn("newest", F.expr("CASE WHEN with_own THEN any_newest ELSE other_newest END"))
        .where("newest > greatest(coalesce(after, 0), coalesce(most, 0), 0)")
    )
    return violations(late, "stale", ["end"], "newest")
