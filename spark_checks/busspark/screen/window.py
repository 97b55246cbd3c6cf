"""One window over all rows: those before a row in its key; then a row for each key, or for each slice of one."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from busspark.known import CONTENT, DURABLE, LEASE, LETTERS, ORDER, READS, UNINVITED
from busspark.screen import rows as r
from busspark.screen.rows import HALF

# Kinds whose slices are stitched, so each comes back as one small row.
SLICED = (r.SEQ, r.VIEW)
# The columns that are summed up for a key and slice: column → how. A key is of one run and kind.
OF_KEY = {
    "r": "max(r)",
    "k": "max(k)",
    "bits": "bit_or(bits)",
    "f": "bit_or(f)",
    "n": "sum(n)",
    "h": "max(h)",
    "h0": "min(h)",
    "hs": "sum(hs)",
    "w": "sum(w)",
    "u": "max(u)",
    "u0": "min(u)",
    "v": "max(v)",
    "v0": "min(v)",
}
KEY = ("r", "k", "g", "s")
# A hold's (at, who, until), of the kind that its bits say, and its numbers for those after it
HANDS = {"held": r.HELD, "claimed": r.CLAIMED, "freed": r.FREED, "unsure": r.UNSURE, "coming": r.COMING}


def screened(rows: DataFrame, *, may_repeat: bool) -> DataFrame:
    """KEY and OF_KEY: a row for each slice, and for each suspect key."""
    before = Window.partitionBy("g", "s").orderBy("o", "n").rowsBetween(Window.unboundedPreceding, -1)
    # Shuffled and sorted here, before they are made wide for the window.
    sorted_rows = rows.repartition("g", "s").sortWithinPartitions("g", "s", "o", "n")

    def last(column: str) -> Column:
        return F.last(column, ignorenulls=True).over(before)

    seen = sorted_rows.selectExpr(
        "*",
        f"{_of_hold(r.HELD, 'n')} AS ms",
        f"{_of_hold(r.RELEASED, 'b')} AS released",
        *(f"{_of_hold(bit, 'struct(o AS at, u AS who, t AS until)')} AS {name}" for name, bit in HANDS.items()),
    ).withColumns(
        {
            "b_ms": F.max("ms").over(before),
            "b_v": F.min("v").over(before),
            "b_h": F.min("h").over(before),
            "b_n": F.sum("n").over(before),
            "b_f": F.bit_or("f").over(before),
            "b_u": last("u"),
            "b_released": F.max("released").over(before),
            **{f"b_{name}": last(name) for name in HANDS},
        }
    )
    # A message that was acknowledged under this seq already must be the same, and was appended then.
    of_log = f"CASE WHEN b_v = v THEN b_u <> u ELSE {_has('f', r.LATE)} OR b_h <> h + 1 END"
    bits = (
        f"CASE WHEN k = {r.HOLD} THEN CASE WHEN {_of_holds(may_repeat)} THEN {LEASE} ELSE 0 END"
        f" WHEN k = {r.SEQ} AND {of_log} THEN {ORDER} ELSE 0 END"
    )
    seen = seen.selectExpr(
        *KEY,
        f"CAST({bits} AS LONG) AS bits",
        "f",
        "n",
        "h",
        f"CASE WHEN k = {r.VIEW} THEN h END AS hs",
        f"CASE WHEN k = {r.VIEW} THEN h * b_n END AS w",
        "u",
        "v",
    )
    suspect = (
        seen.where(f"k <> {r.HOLD} OR bits <> 0")
        .groupBy("g", "s")
        .agg(*(F.expr(how).alias(name) for name, how in OF_KEY.items()))
    )
    suspect = suspect.withColumn("bits", F.expr(f"bits | CASE WHEN k IN ({_SUMMED}) THEN {_of_keys()} ELSE 0 END"))
    return suspect.where(f"bits <> 0 OR k IN ({', '.join(map(str, (*SLICED, r.NAMELESS)))})")


def and_sums(rows: DataFrame, sums: DataFrame | None) -> DataFrame:
    """The sums as further rows."""
    if sums is None:
        return rows
    there = set(sums.columns)
    return rows.unionAll(sums.selectExpr(*(c if c in there else f"CAST(NULL AS LONG) AS {c}" for c in rows.columns)))


_SUMMED = ", ".join(map(str, (r.MESSAGE, r.ADDRESSEE, r.LETTER, r.ANSWER, r.CONTENT)))


def _of_hold(bit: int, condition: str) -> str:
    return f"CASE WHEN k = {r.HOLD} AND f & {bit} <> 0 THEN {condition} END"


def _has(bits: str, bit: int) -> str:
    return f"(coalesce({bits}, 0) & {bit}) <> 0"


def _of_keys() -> str:
    """The suspicions against a key whose rows have no order."""
    low, high = f"(n % {HALF})", f"(n DIV {HALF})"
    lost = f"{_has('f', r.DUE)} AND NOT {_has('f', r.STANDS)}"
    moved = "coalesce(u0 <> v0 OR u <> v0, FALSE)"
    twice = f"coalesce({low} > 1 OR ({_has('f', r.NEW)} AND {high} > 1), FALSE)"
    nobodys = f"{_has('f', r.INVITED)} AND NOT {_has('f', r.POSSIBLE)}"
    to_another = (
        f"{_has('f', r.TAKEN)} AND {_has('f', r.SENT)} AND NOT {_has('f', r.TO_ALL)}"
        " AND NOT coalesce(u0 = v0 AND u = v AND u0 = u, FALSE)"
    )
    # Nobody was told where it stands, and that is below a seq that had been told before its first attempt.
    stands_low = f"h >= {r.STANDING} AND h - {r.STANDING} < h0"
    below = f"{_has('f', r.POSSIBLE)} AND NOT {_has('f', r.TOLD)} AND {stands_low}"
    of_message = _sum_of(
        {
            DURABLE: f"({lost}) OR {moved} OR {twice} OR ((s = 0 OR {_has('f', r.FAILED)}) AND {nobodys})",
            UNINVITED: nobodys,
            ORDER: f"coalesce(u0 <> u OR ({below}), FALSE)",
            READS: f"{moved} OR ({_has('f', r.RECEIVED)} AND NOT {_has('f', r.POSSIBLE)})",
        }
    )
    return (
        f"CASE k WHEN {r.MESSAGE} THEN {of_message}"
        f" WHEN {r.ADDRESSEE} THEN {_sum_of({LEASE: to_another})}"
        f" WHEN {r.LETTER} THEN {_sum_of({LETTERS: _has('f', 1) + ' OR coalesce(n >= 3, FALSE)'})}"
        f" WHEN {r.CONTENT} THEN {_sum_of({CONTENT: 'coalesce(u0 <> u, FALSE)'})}"
        f" ELSE {_sum_of({READS: 'n > 1'})} END"
    )


def _sum_of(suspicions: dict[int, str]) -> str:
    return "(" + " + ".join(f"CASE WHEN {when} THEN {bit} ELSE 0 END" for bit, when in suspicions.items()) + ")"


def _of_holds(may_repeat: bool) -> str:
    """Is a claim, renewal or release suspect, against the last one that returned before it?

    That is enough for claims that overlap: if each may follow the one answered before it, each may follow all of them,
    as long as the bus's time rises and no holder's second claim makes its lease shorter. If either fails, it is
    suspect. The last claim is asked as well as the last lease of the key, which may be a renewal that came before it.
    The text is short, as a method of more than 8,000 bytes is not compiled: so every release of a key that another had
    claimed is suspect.
    """
    released = "coalesce(b_released, -1)"
    held_by, claimed_by = ("b_held.who <> u AND", "b_claimed.who <> u AND") if may_repeat else ("", "")
    freed = "coalesce(b_freed.who = b_held.who AND b_freed.at > b_held.at, FALSE)"
    early = (
        f"coalesce({held_by} b_held.until > n AND NOT {freed}, FALSE)"
        f" OR coalesce({claimed_by} b_claimed.until > n AND {released} < b_claimed.at, FALSE)"
    )
    shorter = "b_held.who = u AND t < b_held.until"
    granted = f"{_has('f', r.CLAIMED)} AND coalesce(({early}) OR v >= b_v OR ({shorter}), FALSE)"
    held = " OR ".join(f"(b_{claim}.until >= h AND {released} < b_{claim}.at)" for claim in ("held", "coming"))
    given_back_meanwhile = f"(b_held.until >= h AND {released} > b)"
    is_held = f"{held} OR {given_back_meanwhile} OR {released} < b_unsure.at"
    refused = f"{_has('f', r.REFUSED)} AND NOT coalesce({is_held}, FALSE)"
    unanswered = f"b_unsure.who = u AND {released} < b_unsure.at AND coalesce(b_claimed.at, -1) < b_unsure.at"
    is_claimed = f"b_claimed.who = u AND {released} < b_claimed.at"
    kept = f"{_has('f', r.KEPT)} AND NOT coalesce(({is_claimed}) OR ({unanswered}), FALSE)"
    third = refused if may_repeat else f"{_has('f', r.CLAIMED | r.SHOWN)} AND {_has('b_f', r.DONE)}"
    return f"coalesce(ms < b_ms, FALSE) OR {_has('f', r.SHORT)} OR ({granted}) OR ({kept}) OR ({third})"
