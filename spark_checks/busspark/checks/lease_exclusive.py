"""lease_exclusive in Spark: each task's grants against what had certainly come before them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict, judged
from busspark.checks.asof import before
from busspark.checks.collect import violations, witnesses
from busspark.streams import Streams


def check(streams: Streams, about: Completeness) -> Verdict:
    """See busproof.checks.lease_exclusive, which says why."""
    held = streams.holds.where("outcome = 'ok' AND granted AND op <> 'release_claim'")
    grants = held.where("op = 'try_claim_task'")
    asked = grants.selectExpr("task", "begin AS time", "end", "agent", "token", "at_ms")
    renewals = held.where("op = 'renew_claim'").selectExpr("task", "begin AS time", "end", "agent")
    frames = [
        _overlaps(streams, held, asked),
        _at_once(streams, grants),
        _tokens(grants, asked),
        _retaken(grants, renewals, streams),
    ]
    return judged("lease_exclusive", witnesses(*frames), streams.holds.count(), about.unknown_because)


def _overlaps(streams: Streams, held: DataFrame, asked: DataFrame) -> DataFrame:
    entries = held.selectExpr(
        "task", "end AS time", "struct(begin, end, agent AS holder, lease_until_ms AS until) AS value"
    )
    live = before(entries, asked, ["task"], last=True).where("best.until > at_ms AND best.holder <> agent")
    # A release of the old holder that may have come in between excuses the grant.
    releases = streams.holds.where("op = 'release_claim' AND outcome <> 'fail' AND coalesce(granted, TRUE)")
    freed = releases.selectExpr("task", "agent AS holder", "begin AS time", "end AS value")
    suspects = live.selectExpr(
        "task",
        "best.holder AS holder",
        "end AS time",
        "best.begin AS since",
        "best.end AS held_at",
        "best.until AS until",
        "at_ms",
    )
    guilty = before(freed, suspects, ["task", "holder"]).where("best IS NULL OR best <= since")
    return violations(guilty, "overlap", ["held_at", "time"], "until", "at_ms")


def _at_once(streams: Streams, grants: DataFrame) -> DataFrame:
    """Grants that overlap in time and of which neither can have come first."""
    spans = grants.where("lease_until_ms IS NOT NULL").select(
        "task", "begin", "end", "agent", "lease_until_ms", "at_ms"
    )
    # Few grants overlap: those that began while another was open, and those that were open then.
    # Times are doubled, so that a grant's question comes before its own entry.
    entries = spans.selectExpr("task", "2 * begin + 1 AS time", "end AS value")
    began = before(entries, spans.withColumn("time", 2 * F.col("begin")), ["task"])
    later = began.where("best > begin").drop("time", "best")
    pairs = (
        later.alias("b")
        .join(spans.alias("a"), "task")
        .where("a.begin < b.begin AND b.begin < a.end AND a.agent <> b.agent")
        .selectExpr(
            "task",
            "a.begin AS a_begin",
            "a.end AS a_end",
            "a.agent AS a_agent",
            "a.lease_until_ms AS a_until",
            "a.at_ms AS a_at",
            "b.begin AS b_begin",
            "b.end AS b_end",
            "b.agent AS b_agent",
            "b.lease_until_ms AS b_until",
            "b.at_ms AS b_at",
        )
        .where("a_until > b_at AND b_until > a_at")
    )
    freed = streams.holds.where("op = 'release_claim' AND outcome <> 'fail' AND coalesce(granted, TRUE)")
    freed = freed.selectExpr("task AS r_task", "agent AS r_agent", "begin AS r_begin", "end AS r_end")
    for one, other in (("a", "b"), ("b", "a")):
        came_between = f"task = r_task AND r_agent = {one}_agent AND r_end > {one}_begin AND r_begin < {other}_end"
        pairs = pairs.join(freed, F.expr(came_between), "left_anti")
    return violations(pairs, "overlap", ["a_end", "b_end"], "a_until", "b_at")


def _tokens(grants: DataFrame, asked: DataFrame) -> DataFrame:
    entries = grants.where("token IS NOT NULL").selectExpr(
        "task", "end AS time", "struct(token, -end AS event) AS value"
    )
    fallen = before(entries, asked, ["task"]).where("token <= best.token")
    return violations(fallen, "token_not_rising", [-F.col("best.event"), "end"], "best.token", "token")


def _retaken(grants: DataFrame, renewals: DataFrame, streams: Streams) -> DataFrame:
    entries = grants.selectExpr("task", "end AS time", "struct(begin, end, agent AS holder) AS value")
    lost = before(entries, renewals, ["task"], last=True).where("best.holder <> agent")
    # Without an answer it may have been granted.
    claims = streams.holds.where("op = 'try_claim_task' AND outcome <> 'fail' AND coalesce(granted, TRUE)")
    own = claims.selectExpr("task", "agent", "begin AS time", "end AS value")
    suspects = lost.selectExpr("task", "agent", "end AS time", "best.begin AS since", "best.end AS granted_at")
    guilty = before(own, suspects, ["task", "agent"]).where("best IS NULL OR best <= since")
    return violations(guilty, "renewed_after_retake", ["granted_at", "time"])
