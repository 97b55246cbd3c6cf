"""One window over all rows: what came before a row in its key, and what stands at its own place."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from busspark.screen import rows as r
from busspark.screen.rows import HALF

# What a suspect is suspected of: one bit a group of checks.
ORDER, DURABLE, READS, ACKS, LEASE, EXPORT, LETTERS, UNINVITED = (1 << n for n in range(8))
# Kinds whose slices are stitched, so each comes back as one small row.
SLICED = (r.SEQ, r.VIEW, r.TIME, r.NEWS)


def screened(rows: DataFrame, *, is_dense: bool, may_repeat: bool) -> DataFrame:
    """(run, k, g, s, bits, and what the edges of slices need): a row for each slice, and for each suspect key."""
    of_key = Window.partitionBy("g", "s").orderBy("o")
    before = of_key.rangeBetween(Window.unboundedPreceding, -1)
    here = of_key.rangeBetween(0, 0)

    def last(column: str) -> Column:
        return F.last(column, ignorenulls=True).over(before)

    seen = rows.withColumns(
        {
            "b_a": F.max("a").over(before),
            "b_me": F.max("me").over(before),
            "b_f": F.bit_or("f").over(before),
            **{f"b_{name}": last(name) for name in ("lo", "lh", "lw", "go", "gh", "ro", "rh", "gr", "uo", "uh")},
            "s_f": F.bit_or("f").over(here),
            "s_n": F.sum("n").over(here),
            "s_u0": F.min("u").over(here),
            "s_u1": F.max("u").over(here),
            "s_v0": F.min("v").over(here),
            "s_v1": F.max("v").over(here),
        }
    )
    bits = " + ".join(f"CASE WHEN {said} THEN {bit} ELSE 0 END" for bit, said in _suspicions(is_dense, may_repeat))
    seen = seen.withColumn("bits", F.expr(bits))
    sliced = ", ".join(map(str, SLICED))
    seen = seen.where(f"bits <> 0 OR k IN ({sliced}, {r.NAMELESS})")
    uncovered = "CASE WHEN b_lo IS NULL THEN p END"
    return seen.groupBy("g", "s", "run", "k").agg(
        F.expr("bit_or(bits) AS bits"),
        F.expr("max(a) AS a"),
        F.expr("min(b) AS b"),
        F.expr("max(lo) AS lo"),
        F.expr("min(lo) AS lo_least"),
        F.expr(f"min({uncovered}) AS p"),
        F.expr("max(u) AS u"),
        F.expr("max(v) AS v"),
        F.expr("max(x) AS x"),
        F.expr("bit_or(f) AS f"),
        F.expr("max(o) AS o"),
    )


def _has(bits: str, bit: int) -> str:
    return f"(coalesce({bits}, 0) & {bit}) <> 0"


def _suspicions(is_dense: bool, may_repeat: bool) -> list[tuple[int, str]]:
    return [*_of_messages(), *_of_logs(is_dense), *_of_readers(), *_of_holds(may_repeat)]


def _of_messages() -> list[tuple[int, str]]:
    low, high = f"(s_n % {HALF})", f"(s_n DIV {HALF})"
    lost = f"{_has('s_f', r.DUE)} AND NOT {_has('s_f', r.STANDS)}"
    moved = "s_u0 <> s_v0 OR s_u1 <> s_v0"
    twice = f"{low} > 1 OR ({_has('s_f', r.NEW)} AND {high} > 1)"
    nobodys = f"{_has('s_f', r.INVITED)} AND NOT {_has('s_f', r.POSSIBLE)}"
    named = "s = 0"
    return [
        (DURABLE, f"k = {r.MESSAGE} AND coalesce({lost} OR {moved} OR {twice} OR ({named} AND {nobodys}), FALSE)"),
        (UNINVITED, f"k = {r.MESSAGE} AND {nobodys}"),
        (ORDER, f"k = {r.MESSAGE} AND s_u0 <> s_u1"),
        (READS, f"k = {r.MESSAGE} AND {_has('s_f', r.RECEIVED)} AND NOT {_has('s_f', r.POSSIBLE)}"),
    ]


def _of_logs(is_dense: bool) -> list[tuple[int, str]]:
    gap = f"OR (n = 1 AND (b_lo <> o - 1 OR s_n % {HALF} > 1))" if is_dense else ""
    unlike = "x IS NOT NULL AND (s_v0 IS NULL OR s_v0 <> x OR s_v1 <> x)"
    # What stands between may be the reader's own.
    passed = "b_lo > p AND NOT coalesce(b_lh = y AND b_lw >= b_lo - p, FALSE)"
    once = f"n IS NOT NULL AND NOT (s_n % {HALF} > 0 AND s_n DIV {HALF} = 1)"
    return [
        (ORDER, f"k = {r.SEQ} AND coalesce(b_a > b OR s_u0 <> s_u1 {gap}, FALSE)"),
        (READS, f"k IN ({r.SEQ}, {r.VIEW}) AND coalesce(({unlike}) OR ({passed}), FALSE)"),
        (EXPORT, f"k = {r.SEQ} AND {once}"),
    ]


def _of_readers() -> list[tuple[int, str]]:
    return [
        (ACKS, f"k = {r.TIME} AND coalesce(b_a >= b, FALSE)"),
        (READS, f"k = {r.NEWS} AND coalesce(b_a >= b, FALSE)"),
        (READS, f"k = {r.ITSELF} AND {_has('f', r.READ_ODD)}"),
        (EXPORT, f"k = {r.ITSELF} AND {_has('f', r.EXPORT_ODD)}"),
        (READS, f"k = {r.ANSWER} AND s_n > 1"),
        (LETTERS, f"k = {r.LETTER} AND ({_has('s_f', 1)} OR s_n >= 3)"),
    ]


def _of_holds(may_repeat: bool) -> list[tuple[int, str]]:
    released = "coalesce(b_gr, -1)"
    other = "b_lh <> y AND" if may_repeat else ""
    early = f"{other} b_lw > n AND NOT coalesce(b_rh = b_lh AND b_ro > b_lo, FALSE)"
    granted = f"{_has('f', r.CLAIMED)} AND coalesce(b_me > b OR ({early}) OR p <= b_a, FALSE)"
    is_held = f"(b_lw >= x AND {released} < b_lo) OR {released} < b_uo"
    refused = f"{_has('f', r.REFUSED)} AND NOT coalesce({is_held}, FALSE)"
    unanswered = f"b_uh = y AND {released} < b_uo AND coalesce(b_go, -1) < b_uo"
    kept = f"{_has('f', r.KEPT)} AND NOT coalesce((b_gh = y AND {released} < b_go) OR ({unanswered}), FALSE)"
    to_another = (
        f"{_has('s_f', r.TAKEN)} AND {_has('s_f', r.SENT)} AND NOT {_has('s_f', r.TO_ALL)}"
        " AND NOT coalesce(s_u0 = s_v0 AND s_u1 = s_v1 AND s_u0 = s_u1, FALSE)"
    )
    found = [granted, kept]
    if may_repeat:
        found.append(refused)
    else:
        found += [f"{_has('f', r.CLAIMED)} AND {_has('b_f', r.DONE)}"]
    return [(LEASE, f"k = {r.HOLD} AND (({') OR ('.join(found)}))"), (LEASE, f"k = {r.ADDRESSEE} AND {to_another}")]
