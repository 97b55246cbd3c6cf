"""durable in Spark: sets compared by lane and id, or by what the sender named."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from busproof.checks.facts import About
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.frames import Frames


def check(frames: Frames, about: About) -> Verdict:
    """See busproof.checks.durable, which says why."""
    told = frames.appended.where("outcome = 'ok' AND id IS NOT NULL")
    first = F.min("end").over(Window.partitionBy("lane", "id"))
    again = told.withColumn("first", first).where("is_new AND end <> first")
    found = [violations(again, "id_given_twice", ["first", "end"])]
    if about.dump_at is not None:
        found += _lost(frames, told, about, about.dump_at) + _doubled_or_uninvited(frames, about.dump_at)
    return judged("durable", witnesses(*found), frames.appended.count(), about.unknown_because or about.no_dump)


def _lost(frames: Frames, told: DataFrame, about: About, dump_at: int) -> list[DataFrame]:
    stands = frames.stored.groupBy("lane", "id").agg(F.min("seq").alias("now"), F.lit(True).alias("is_there"))
    due = told.where(F.col("end") <= dump_at).where(
        F.col("expires_ms").isNull() | (F.col("expires_ms") > (about.newest_ms or 0))
    )
    due = due.join(stands, ["lane", "id"], "left")
    lost, moved = due.where("is_there IS NULL"), due.where("now <> seq")
    return [
        violations(lost, "lost", ["end"], F.coalesce("seq", F.lit(0))),
        violations(moved, "seq_changed", ["end", F.lit(dump_at)], "seq", "now"),
    ]


def _doubled_or_uninvited(frames: Frames, dump_at: int) -> list[DataFrame]:
    at, message, key = F.lit(dump_at), F.coalesce("name", "id").alias("message"), ["lane", "message"]
    stored = frames.stored.withColumn("message", message)
    twice = stored.where("NOT is_dead").groupBy(*key).agg(F.count("*").alias("n")).where("n > 1")
    tried = frames.appended.withColumn("message", message)
    fate = (
        tried.where("message IS NOT NULL")
        .groupBy(*key)
        .agg(
            F.max(F.col("outcome") != "fail").alias("possible"),
            F.max(F.when(F.col("outcome") == "fail", F.col("end"))).alias("refused"),
        )
    )
    nameless = tried.where("message IS NULL AND outcome <> 'fail'").select("lane", F.lit(True).alias("any_row"))
    rows = stored.where("NOT is_own").join(fate, key, "left").where("NOT coalesce(possible, FALSE)")
    rows = rows.withColumn("told", F.coalesce("seq", F.lit(0)))
    nobodys = rows.where("refused IS NULL").join(nameless.distinct(), "lane", "left")
    return [
        violations(twice, "row_doubled", [at], "n"),
        violations(rows.where("refused IS NOT NULL"), "refused_but_stored", ["refused", at], "told"),
        violations(nobodys.where("name IS NOT NULL OR any_row IS NULL"), "phantom", [at], "told"),
    ]
