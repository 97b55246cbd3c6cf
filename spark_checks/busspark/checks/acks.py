"""acks in Spark: running maxima of the acknowledged acks of each reader."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.checks.facts import About
from busproof.checks.verdict import Verdict, judged
from busspark.checks.asof import before
from busspark.checks.collect import violations, witnesses
from busspark.frames import Frames

READER = ["lane", "reader"]


def check(frames: Frames, about: About) -> Verdict:
    """See busproof.checks.acks, which says why."""
    acked = frames.acked.where("outcome = 'ok'")
    # Of equal acks the first one is the witness: the largest pair of seq and minus its event.
    entries = acked.selectExpr("lane", "reader", "end AS time", "struct(seq, -end AS event) AS value")
    asked = frames.acked.where("outcome <> 'fail'").groupBy(*READER).agg(F.max("seq").alias("furthest"))
    lowest = frames.delivered.groupBy("end").agg(F.min("seq").alias("lowest"))
    reads = frames.reads.join(frames.jumps, READER, "left_anti").join(lowest, "end")
    again = before(entries, reads.selectExpr("lane", "reader", "begin AS time", "end", "lowest"), READER)
    answers = acked.where("answer IS NOT NULL").selectExpr("lane", "reader", "begin AS time", "end", "answer")
    again = again.where("lowest <= best.seq")
    back = before(entries, answers, READER).where("answer < best.seq")
    ahead = answers.join(asked, READER).where("answer > furthest")
    found = [
        violations(
            again.where("lowest <= best.seq"), "redelivered", [-F.col("best.event"), "end"], "lowest", "best.seq"
        ),
        violations(back, "ack_went_back", [-F.col("best.event"), "end"], "answer", "best.seq"),
        violations(ahead, "cursor_ahead", ["end"], "answer", "furthest"),
    ]
    if about.dump_at is not None:
        found += _final(frames, entries, asked, about.dump_at)
    return judged("acks", witnesses(*found), frames.acked.count(), about.unknown_because or about.no_dump)


def _final(frames: Frames, entries: DataFrame, asked: DataFrame, dump_at: int) -> list[DataFrame]:
    tops = [frames.stored.agg(F.max("seq")), frames.appended.agg(F.max("seq"))]
    newest = max([top.collect()[0][0] or 0 for top in tops])
    acked = frames.acked.where("outcome = 'ok'").where(F.col("seq") > newest)
    stands = frames.positions.groupBy(*READER).agg(F.greatest(F.max("seq"), F.lit(0)).alias("position"))
    last = entries.where(F.col("time") < dump_at).groupBy(*READER).agg(F.max("value").alias("best"))
    lost = last.join(stands, READER, "left").withColumn("position", F.coalesce("position", F.lit(0)))
    ahead = stands.join(frames.jumps, READER, "left_anti").join(asked, READER, "left")
    ahead = ahead.withColumn("furthest", F.coalesce("furthest", F.lit(0))).where("position > furthest")
    events = [-F.col("best.event"), F.lit(dump_at)]
    return [
        violations(acked, "ack_beyond", ["end"], "seq", newest),
        violations(lost.where("position < best.seq"), "cursor_lost", events, "position", "best.seq"),
        violations(ahead, "cursor_ahead", [F.lit(dump_at)], "position", "furthest"),
    ]
