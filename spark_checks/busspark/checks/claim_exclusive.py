"""claim_exclusive in Spark: the claims of a delivery in pairs, with its completions beside them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.comms_streams import CommsStreams


def check(streams: CommsStreams, about: Completeness) -> Verdict:
    """See busproof.checks.claim_exclusive, which says why."""
    pairs = _pairs(streams)
    twice = pairs.where("NOT a_first AND (a_end < b_begin OR NOT b_first)")
    fallen = (pairs.where("(a_first OR a_end >= b_begin AND b_first) AND a_end < b_begin AND b_count <= a_count")).join(
        streams.redriven, "message", "left_anti"
    )
    found = witnesses(
        violations(_stolen(streams), "claimed_by_another", ["end"]),
        violations(twice, "claimed_twice", ["a_end", "b_end"]),
        violations(fallen, "count_not_rising", ["a_end", "b_end"], "a_count", "b_count"),
        violations(_after_done(streams), "claimed_after_done", ["done_end", "end"]),
    )
    return judged("claim_exclusive", found, streams.claims.count(), about.unknown_because)


def _pairs(streams: CommsStreams) -> DataFrame:
    """Claims a and b of one delivery, a begun first; can each have been over when the other was granted?"""
    claims = streams.claims.select("message", "agent", "begin", "end", "count", "until_ms", "at_ms")

    def named(side: str) -> DataFrame:
        renamed = [F.col(name).alias(f"{side}_{name}") for name in ("begin", "end", "count", "until_ms", "at_ms")]
        return claims.select("message", "agent", *renamed)

    done = streams.completions.groupBy("message", "agent").agg(
        F.collect_list(F.struct("begin", "end")).alias("completions")
    )
    both = named("a").join(named("b"), ["message", "agent"]).where("a_begin < b_begin")
    both = both.join(done, ["message", "agent"], "left")
    for one, other in (("a", "b"), ("b", "a")):
        between = f"exists(completions, c -> c.end > {one}_begin AND c.begin < {other}_end)"
        may = f"{one}_until_ms IS NULL OR {one}_until_ms <= {other}_at_ms OR coalesce({between}, FALSE)"
        both = both.withColumn(f"{one}_first", F.expr(may))
    return both


def _stolen(streams: CommsStreams) -> DataFrame:
    to = streams.sends.where("id IS NOT NULL AND to_agent IS NOT NULL").selectExpr("id AS message", "to_agent")
    return streams.claims.join(to.distinct(), "message").where("to_agent <> agent")


def _after_done(streams: CommsStreams) -> DataFrame:
    done = streams.completions.where("status = 'done'").selectExpr("message", "agent", "end AS done_end")
    return streams.claims.join(done, ["message", "agent"]).where("done_end < begin")
