"""lease_exclusive in Spark: each task's grants against what had certainly come before them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.checks.verdict import Verdict, judged
from busspark.checks.about import About
from busspark.checks.asof import before
from busspark.checks.collect import violations, witnesses
from busspark.streams import Streams


def check(streams: Streams, about: About) -> Verdict:
    """See busproof.checks.lease_exclusive, which says why."""
    held = streams.holds.where("outcome = 'ok' AND granted AND op <> 'release_claim'")
    grants = held.where("op = 'try_claim_task'")
    asked = grants.selectExpr("task", "begin AS time", "end", "agent", "token", "at_ms")
    renewals = held.where("op = 'renew_claim'").selectExpr("task", "begin AS time", "end", "agent")
    frames = [
        _overlaps(streams, held, asked),
        _tokens(grants, asked),
        _retaken(grants, renewals),
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
        "task", "best.holder AS holder", "end AS time", "best.begin AS since", "best.end AS held_at",
        "best.until AS until", "at_ms",
    )  # fmt: skip
    guilty = before(freed, suspects, ["task", "holder"]).where("best IS NULL OR best <= since")
    return violations(guilty, "overlap", ["held_at", "time"], "until", "at_ms")


def _tokens(grants: DataFrame, asked: DataFrame) -> DataFrame:
    entries = grants.where("token IS NOT NULL").selectExpr(
        "task", "end AS time", "struct(token, -end AS event) AS value"
    )
    fallen = before(entries, asked, ["task"]).where("token <= best.token")
    return violations(fallen, "token_not_rising", [-F.col("best.event"), "end"], "best.token", "token")


def _retaken(grants: DataFrame, renewals: DataFrame) -> DataFrame:
    entries = grants.selectExpr("task", "end AS time", "struct(begin, end, agent AS holder) AS value")
    lost = before(entries, renewals, ["task"], last=True).where("best.holder <> agent")
    own = grants.selectExpr("task", "agent", "begin AS time", "end AS value")
    suspects = lost.selectExpr(
        "task", "agent", "end AS time", "best.begin AS since", "best.end AS granted_at"
    )
    guilty = before(own, suspects, ["task", "agent"]).where("best IS NULL OR best <= since")
    return violations(guilty, "renewed_after_retake", ["granted_at", "time"])
