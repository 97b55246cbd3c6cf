"""lease in Spark: each key's operations in one line of time, each against what had certainly come before it.

One window over beginnings and ends answers nearly all of it. What it leaves suspect is rare, unless the bus is broken,
and is asked again in full.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from busproof.checks.facts import About
from busproof.checks.verdict import Verdict, judged
from busspark.checks.asof import before
from busspark.checks.collect import violations, witnesses
from busspark.frames import Frames

KEY = ["lane", "key"]
HOLDER = [*KEY, "holder"]
_POSSIBLE = "outcome <> 'fail' AND coalesce(granted, TRUE)"
_GRANTED = "outcome = 'ok' AND granted"
_DUE = "until_ms IS NULL OR until_ms >= asked_ms"


def check(frames: Frames, about: About) -> Verdict:
    """See busproof.checks.lease, which says why."""
    seen = _seen(frames.holds).cache()
    found = [
        _overlaps(frames.holds, seen, may_repeat=True),
        _at_once(frames.holds, may_repeat=True),
        _tokens(seen),
        _refused(frames.holds, seen),
        *_strangers(frames.holds, seen),
    ]
    return judged("lease", witnesses(*found), frames.holds.count(), about.unknown_because)


def check_deliveries(frames: Frames, about: About) -> Verdict:
    """Every claim is a hold of its own, made by its addressee; what is done is over, and refusals have many reasons."""
    holds, seen = frames.holds, _seen(frames.holds).cache()
    claims = holds.where(f"op = 'claim' AND {_GRANTED}")
    done = holds.where("is_final").select(*KEY, F.col("end").alias("done_end"))
    found = [
        _overlaps(holds, seen, may_repeat=False),
        _at_once(holds, may_repeat=False),
        _tokens(seen.join(frames.redriven, "key", "left_anti")),
        violations(_stolen(frames, claims), "claimed_by_another", ["end"]),
        violations(claims.join(done, KEY).where("done_end < begin"), "claimed_after_done", ["done_end", "end"]),
        violations(_unclaimed(holds, seen), "released_not_held", ["end"]),
    ]
    return judged("lease", witnesses(*found), claims.count(), about.unknown_because)


def _seen(holds: DataFrame) -> DataFrame:
    """Each operation at its beginning, with what had come before it."""
    both = [F.struct(F.col(end).alias("time"), F.lit(end == "begin").alias("is_begin")) for end in ("begin", "end")]
    moments = holds.withColumn("moment", F.explode(F.array(*both))).select("*", "moment.*").drop("moment")
    of_key = Window.partitionBy(*KEY).orderBy("time").rowsBetween(Window.unboundedPreceding, -1)
    of_holder = Window.partitionBy(*HOLDER).orderBy("time").rowsBetween(Window.unboundedPreceding, -1)
    hold = F.struct("begin", "end", "holder", "until_ms")
    token = F.struct("token", (-F.col("end")).alias("event"))  # of equal ones the first

    def last(where: str) -> Column:
        return F.last(F.when(F.expr(where), hold), ignorenulls=True).over(of_key)

    def most(where: str, value: Column, over: object) -> Column:
        return F.max(F.when(F.expr(where), value)).over(over)  # type: ignore[arg-type]

    granted_claim = f"NOT is_begin AND op = 'claim' AND {_GRANTED}"
    return moments.withColumns(
        {
            "last_held": last(f"NOT is_begin AND op <> 'release' AND {_GRANTED}"),
            "last_grant": last(granted_claim),
            "last_try": last(f"is_begin AND op <> 'release' AND {_POSSIBLE}"),
            "best": most(f"{granted_claim} AND token IS NOT NULL", token, of_key),
            "released": most(f"NOT is_begin AND op = 'release' AND {_GRANTED}", F.col("begin"), of_key),
            "own_released": most(f"NOT is_begin AND op = 'release' AND {_GRANTED}", F.col("begin"), of_holder),
            "own_claimed": most(f"is_begin AND op = 'claim' AND {_POSSIBLE}", F.col("end"), of_holder),
        }
    ).where("is_begin")


def _freed(holds: DataFrame) -> DataFrame:
    """Releases that may have happened."""
    return holds.where(f"op = 'release' AND {_POSSIBLE}").selectExpr(*HOLDER, "begin AS time", "end AS value")


def _overlaps(holds: DataFrame, seen: DataFrame, *, may_repeat: bool) -> DataFrame:
    grants = seen.where(f"op = 'claim' AND {_GRANTED} AND last_held.until_ms > at_ms")
    if may_repeat:
        grants = grants.where("last_held.holder <> holder")
    suspects = grants.selectExpr(*KEY, "last_held.holder AS holder", "end AS time", "last_held AS held", "at_ms")
    # A release of the old holder that may have come in between excuses the grant.
    guilty = before(_freed(holds), suspects, HOLDER).where("best IS NULL OR best <= held.begin")
    return violations(guilty, "overlap", ["held.end", "time"], "held.until_ms", "at_ms")


def _at_once(holds: DataFrame, *, may_repeat: bool) -> DataFrame:
    """Grants that overlap in time and of which neither can have come first."""
    grants = holds.where(f"op = 'claim' AND {_GRANTED} AND until_ms IS NOT NULL")
    columns = ("begin", "end", "holder", "until_ms", "at_ms")
    spans = grants.select(*KEY, *columns)
    # Few grants overlap: those that began while another was open, and those that were open then.
    # Times are doubled, so that a grant's question comes before its own entry.
    entries = spans.selectExpr(*KEY, "2 * begin + 1 AS time", "end AS value")
    began = before(entries, spans.withColumn("time", 2 * F.col("begin")), KEY)
    later = began.where("best > begin").select(*KEY, *[F.col(name).alias(f"b_{name}") for name in columns])
    pairs = later.join(spans.select(*KEY, *[F.col(name).alias(f"a_{name}") for name in columns]), KEY)
    pairs = pairs.where("a_begin < b_begin AND b_begin < a_end AND a_until_ms > b_at_ms AND b_until_ms > a_at_ms")
    if may_repeat:
        pairs = pairs.where("a_holder <> b_holder")
    freed = holds.where(f"op = 'release' AND {_POSSIBLE}")
    freed = freed.selectExpr("lane AS r_lane", "key AS r_key", "holder AS r_holder", "begin AS r_begin", "end AS r_end")
    for one, other in (("a", "b"), ("b", "a")):
        same = f"lane = r_lane AND key = r_key AND r_holder = {one}_holder"
        came_between = f"{same} AND r_end > {one}_begin AND r_begin < {other}_end"
        pairs = pairs.join(freed, F.expr(came_between), "left_anti")
    return violations(pairs, "overlap", ["a_end", "b_end"], "a_until_ms", "b_at_ms")


def _tokens(seen: DataFrame) -> DataFrame:
    fallen = seen.where(f"op = 'claim' AND {_GRANTED} AND token <= best.token")
    return violations(fallen, "token_not_rising", [-F.col("best.event"), "end"], "best.token", "token")


def _refused(holds: DataFrame, seen: DataFrame) -> DataFrame:
    """Claims refused that nothing explains: no claim or renewal that may have been alive then."""
    alive = "coalesce(last_try.until_ms, at_ms_min) >= at_ms_min AND coalesce(released, -1) <= last_try.end"
    refused = seen.where("op = 'claim' AND outcome = 'ok' AND NOT granted")
    suspects = refused.where(f"NOT coalesce({alive}, FALSE)").selectExpr(
        *KEY, "begin AS asked_at", "end AS asked_end", "at_ms_min AS asked_ms"
    )
    tries = holds.where(f"op <> 'release' AND {_POSSIBLE}").select(*HOLDER, "begin", "end", "until_ms")
    maybe = suspects.join(tries, KEY).where(f"begin < asked_end AND ({_DUE})")
    released = holds.where(f"op = 'release' AND {_GRANTED}").selectExpr(*HOLDER, "end AS time", "begin AS value")
    maybe = before(released, maybe.withColumn("time", F.col("asked_at")), HOLDER)
    explained = maybe.where("coalesce(best, -1) <= end").select("asked_end").distinct()
    guilty = suspects.join(explained, "asked_end", "left_anti")
    return violations(guilty, "refused_though_free", ["asked_end"], "asked_ms")


def _strangers(holds: DataFrame, seen: DataFrame) -> list[DataFrame]:
    """Renewals and releases granted to who had given the key back, or to whom another had been granted it since."""
    granted = seen.where(f"op <> 'claim' AND {_GRANTED}")
    may_be_wrong = "own_claimed IS NULL OR own_claimed < own_released OR"
    may_be_wrong += " (last_grant.holder <> holder AND own_claimed <= last_grant.begin)"
    suspects = granted.where(may_be_wrong).selectExpr(
        *HOLDER, "end AS time", "op", "last_grant.holder AS other", "last_grant AS grant", "own_released"
    )
    # A claim that began while it ran may be what it rests on.
    suspects = before(_claimed(holds), suspects, HOLDER).cache()
    found = []
    for op, what in (("renew", "renewed"), ("release", "released")):
        of_op = suspects.where(F.col("op") == op)
        not_held = of_op.where("best IS NULL OR best < own_released")
        retaken = of_op.where("other <> holder AND coalesce(best, -1) <= grant.begin")
        found.append(violations(not_held, f"{what}_not_held", ["time"]))
        found.append(violations(retaken, f"{what}_after_retake", ["grant.end", "time"]))
    return found


def _claimed(holds: DataFrame) -> DataFrame:
    return holds.where(f"op = 'claim' AND {_POSSIBLE}").selectExpr(*HOLDER, "begin AS time", "end AS value")


def _unclaimed(holds: DataFrame, seen: DataFrame) -> DataFrame:
    suspects = seen.where(f"op = 'release' AND {_GRANTED} AND own_claimed IS NULL")
    suspects = suspects.selectExpr(*HOLDER, "end AS time", "end")
    return before(_claimed(holds), suspects, HOLDER).where("best IS NULL")


def _stolen(frames: Frames, claims: DataFrame) -> DataFrame:
    """Claims of who is not among those to whom a message of that id may have been sent."""
    sent = frames.appended.where("outcome <> 'fail' AND id IS NOT NULL").groupBy(F.col("id").alias("key"))
    to = sent.agg(
        F.collect_set("addressee").alias("addressees"), F.max(F.col("addressee").isNull()).alias("is_broadcast")
    )
    return claims.join(to, "key").where("NOT is_broadcast AND NOT array_contains(addressees, holder)")
