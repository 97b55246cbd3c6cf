"""dead_letters in Spark: counts of failures against the final queue."""

from __future__ import annotations

from pyspark.sql import functions as F

from busproof.checks.dead_letters import FAILURES_MAX
from busproof.checks.facts import About
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.frames import Frames


def check(frames: Frames, about: About) -> Verdict:
    """See busproof.checks.dead_letters, which says why."""
    delivery = ["key", "lane"]
    claims = frames.holds.where("op = 'claim' AND granted").groupBy(*delivery).agg(F.count("*").alias("claims"))
    each = frames.failed.groupBy(*delivery).agg(
        F.count("*").alias("possible"), F.count_if("is_counted").alias("certain"), F.max("begin").alias("last")
    )
    of_message = (
        each.join(claims, delivery, "left")
        .groupBy("key")
        .agg(
            F.count_if(F.col("possible") >= FAILURES_MAX).alias("allowed"),
            F.count_if(F.least("certain", F.coalesce("claims", F.lit(0))) >= FAILURES_MAX).alias("due"),
            F.max("last").alias("last"),
        )
    )
    letters = frames.stored.where("is_dead").groupBy(F.col("id").alias("key")).agg(F.count("*").alias("letters"))
    both = of_message.join(letters, "key", "full").join(frames.redriven, "key", "left_anti")
    both = both.na.fill(0, ["allowed", "due", "letters", "last"]).withColumn("at", F.lit(about.dump_at))
    early, late = both.where("letters > allowed"), both.where("letters <= allowed AND letters < due")
    found = (
        witnesses(violations(early, "buried_too_early", ["at"], "last"), violations(late, "not_buried", ["at"], "last"))
        if about.dump_at is not None
        else []
    )
    return judged("dead_letters", found, frames.failed.count(), about.unknown_because or about.no_dump)
