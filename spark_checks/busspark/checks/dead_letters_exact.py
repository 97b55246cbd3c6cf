"""dead_letters_exact in Spark: counts of failures against the final queue."""

from __future__ import annotations

from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.dead_letters_exact import FAILURES_MAX
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.comms_streams import CommsStreams


def check(streams: CommsStreams, about: Completeness) -> Verdict:
    """See busproof.checks.dead_letters_exact, which says why."""
    failures = streams.completions.where("is_error AND coalesce(status, '') <> 'done'")
    claims = streams.claims.groupBy("message", "agent").agg(F.count("*").alias("claims"))
    each = (
        failures.groupBy("message", "agent")
        .agg(
            F.count("*").alias("possible"),
            F.sum(F.expr("CAST(outcome = 'ok' AND status IS NOT NULL AS INT)")).alias("certain"),
            F.max("begin").alias("last"),
        )
        .join(claims, ["message", "agent"], "left")
    )
    of_message = each.groupBy("message").agg(
        F.sum(F.expr(f"CAST(possible >= {FAILURES_MAX} AS INT)")).alias("allowed"),
        F.sum(F.expr(f"CAST(least(certain, coalesce(claims, 0)) >= {FAILURES_MAX} AS INT)")).alias("due"),
        F.max("last").alias("last"),
    )
    letters = streams.letters.groupBy(F.col("id").alias("message")).agg(F.count("*").alias("letters"))
    both = of_message.join(letters, "message", "full").join(streams.redriven, "message", "left_anti")
    both = both.na.fill(0, ["allowed", "due", "letters", "last"])
    early = both.where("letters > allowed").withColumn("at", F.lit(about.dump_at))
    late = both.where("letters <= allowed AND letters < due").withColumn("at", F.lit(about.dump_at))
    found = (
        witnesses(violations(early, "buried_too_early", ["at"], "last"), violations(late, "not_buried", ["at"], "last"))
        if about.dump_at is not None
        else []
    )
    counted = streams.completions.where("is_error").count()
    return judged("dead_letters_exact", found, counted, about.unknown_because or about.no_dump)
