"""What each fact tells to the others of its key, and what it asks them: rows of longs.

Every row has its run (a hash), a kind of key (`k`), the key (`g`), its slice (`s`) and its place there (`o`). Rows of a
key meet in one window, in the order of their places; a log is walked from its end. The other columns, null where a row
has nothing to say:

    f   bits
    e   what must stay above the `b` of all rows after it: when an append returned; what was acknowledged, negated
    b   when an append or a read began; the cursor that an answer told, negated
    n   a count; in a view, how many reads begin (-1) or end (+1) to cover what follows
    h   what a stored message is, as a hash; in a dense log, its seq
    u v hashes or seqs that must be one and the same for a message; in a log, the message and its seq
    held claimed freed unsure   what a hold is: (at, who, until) of a lease, of a claim, of a release that may have
        happened, of a claim that nobody answered; and `released`, when a release was granted

What was read is compared with what there is by sums of hashes, not message by message: a read covers a span of its
reader's view, so all that was delivered must sum up to all that stands there, each as often as it is covered (`edges`).
An answer whose messages rise within its span cannot give one back that another left out, so nothing cancels.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.checks import Check, acks, dead_letters, durable, export, lease, order, polls, receives, syncs

LONGS = ("f", "e", "b", "n", "h", "u", "v", "released")
HANDS = ("held", "claimed", "freed", "unsure")
HAND = "STRUCT<at: LONG, who: LONG, until: LONG>"
MESSAGE, SEQ, VIEW, TIME, HOLD, ADDRESSEE, LETTER, ANSWER, NAMELESS, SUM = range(1, 11)
SLICE_OF_LOG, SLICE_OF_VIEW, SLICE_OF_TIME = 2**16, 2**20, 2**22
HALF = 2**32
NEVER = 2**62

# What a suspect is suspected of: one bit a group of checks.
ORDER, DURABLE, READS, ACKS, LEASE, EXPORT, LETTERS, UNINVITED = (1 << n for n in range(8))
# Bits of MESSAGE
DUE, TOLD, POSSIBLE, NEW, STANDS, INVITED, RECEIVED = (1 << n for n in range(7))
# Bits of HOLD
CLAIMED, REFUSED, KEPT, DONE = (1 << n for n in range(4))
# Bits of ADDRESSEE
SENT, TO_ALL, TAKEN = (1 << n for n in range(3))
JUMPED = 1

Streams = Mapping[str, DataFrame]
RUN = "xxhash64(run)"
IS_IT = "xxhash64(lane, seq, id, sender, addressee)"


def rows_of(streams: Streams, checks: set[Check]) -> DataFrame | None:
    """The rows of all facts that these checks look at; None if the screen knows none of them."""
    made: list[DataFrame] = []
    if durable.check in checks or receives.check in checks:
        made += _messages(streams, with_addressee=polls.check in checks)
    if order.check in checks or order.check_dense in checks:
        made += _log(streams, is_dense=order.check_dense in checks)
    if polls.check in checks:
        made += _polls(streams)
    if syncs.check in checks:
        made += _syncs(streams)
    if receives.check in checks:
        made += _receives(streams)
    if acks.check in checks:
        made += _acks(streams)
    if lease.check in checks or lease.check_deliveries in checks:
        made.append(_holds(streams))
    if lease.check_deliveries in checks:
        made += _addressees(streams)
    if dead_letters.check in checks:
        made += _letters(streams)
    return reduce(DataFrame.unionAll, made) if made else None


def _rows(frame: DataFrame, kind: int, key: str, slice_: str, place: str, **columns: str) -> DataFrame:
    told = [f"CAST({columns.get(name, 'NULL')} AS LONG) AS {name}" for name in LONGS]
    hands = [f"CAST({columns.get(name, 'NULL')} AS {HAND}) AS {name}" for name in HANDS]
    keyed = (f"{RUN} AS r", f"CAST({kind} AS BYTE) AS k", f"xxhash64({kind}, run, {key}) AS g")
    where = (f"CAST({slice_} AS LONG) AS s", f"CAST({place} AS LONG) AS o")
    return frame.selectExpr(*keyed, *where, *told, *hands)


def _bits(conditions: Mapping[int, str]) -> str:
    return " + ".join(f"CASE WHEN {said} THEN {bit} ELSE 0 END" for bit, said in conditions.items())


# -- messages and logs


def _messages(streams: Streams, *, with_addressee: bool) -> list[DataFrame]:
    """Each message by its id, and by the name that its sender gave it: attempts and rows of the final state."""
    bits = {
        DUE: "outcome = 'ok' AND end <= dump_at AND (expires_ms IS NULL OR expires_ms > newest_ms)",
        TOLD: "outcome = 'ok'",
        POSSIBLE: "outcome <> 'fail'",
        NEW: "outcome = 'ok' AND is_new",
    }
    seq = "xxhash64(seq, addressee)" if with_addressee else "seq"
    seq = f"CASE WHEN seq IS NOT NULL THEN {seq} END"
    told_seq = f"CASE WHEN outcome = 'ok' THEN {seq} END"
    counted = f"CASE WHEN outcome = 'ok' THEN {HALF} ELSE 0 END"
    tried = streams["appended"].join(F.broadcast(streams["about"]), "run")
    stood, named = streams["stored"], "name IS NOT NULL"
    alive = "CASE WHEN is_dead THEN 0 ELSE 1 END"
    nameless = "name IS NULL"
    stands = f"{STANDS} + CASE WHEN {nameless} AND NOT is_own THEN {INVITED} ELSE 0 END"
    lane, possible = "xxhash64(lane)", f"CASE WHEN outcome <> 'fail' THEN {POSSIBLE} ELSE 0 END"
    unnamed_alive = f"CASE WHEN {nameless} THEN {alive} ELSE 0 END"
    invited = f"CASE WHEN is_own THEN 0 ELSE {INVITED} END"
    by_name = ("1, lane, name", "0", "0")
    return [
        _rows(tried.where("id IS NOT NULL"), MESSAGE, "lane, id", lane, "0", f=_bits(bits), n=counted, u=told_seq),
        _rows(tried.where(named), MESSAGE, *by_name, f=possible, u=told_seq),
        _rows(tried.where("name IS NULL AND id IS NULL AND outcome <> 'fail'"), NAMELESS, "0", lane, "0"),
        _rows(stood, MESSAGE, "lane, id", lane, "0", f=stands, n=unnamed_alive, v=seq),
        _rows(stood.where(named), MESSAGE, *by_name, f=invited, n=alive),
    ]


def _log(streams: Streams, *, is_dense: bool) -> list[DataFrame]:
    """Each log from its end: when its messages were appended and, if none may be left out, what stands there."""
    told = streams["appended"].where("outcome = 'ok' AND seq IS NOT NULL AND coalesce(name, id) IS NOT NULL")
    where = ("lane", f"seq DIV {SLICE_OF_LOG}", "-seq")
    message = "xxhash64(coalesce(name, id))"
    found = [_rows(told, SEQ, *where, e="end", b="least(begin, since)", u=message, v="seq")]
    return [*found, _rows(streams["stored"].where("seq IS NOT NULL"), SEQ, *where, h="seq")] if is_dense else found


# -- reads


def _polls(streams: Streams) -> list[DataFrame]:
    """The messages to one reader are a view of their own; those to all are another, which everyone reads."""
    reads = streams["reads"].selectExpr("*", "greatest(before, coalesce(most, 0)) AS reached")
    spans = reads.where("most IS NOT NULL")
    rooms = reads.where("rows < `limit` AND before IS NOT NULL")
    found = _viewed(streams, "addressee", "addressee", IS_IT)
    for view in ("CAST(NULL AS STRING)", "reader"):
        found += _spans(spans, view, "least(before, least - 1)", "most")
        found.append(_in_view(rooms, view, "reached", 3, b="begin"))
    return found


def _syncs(streams: Streams) -> list[DataFrame]:
    """A topic is a view, and what its reader may leave out, its own messages, is another, to be subtracted."""
    reads = streams["reads"].selectExpr(
        "*",
        "CASE WHEN is_moving THEN greatest(most, after) ELSE most END AS upto",
        "greatest(coalesce(after, 0), coalesce(most, 0)) AS reached",
    )
    start, of_all = "least(before, least - 1)", "CAST(NULL AS STRING)"
    spans = reads.where(f"{start} < upto")
    rooms = reads.where("rows < `limit` AND is_moving")
    own = streams["stored"].where("seq IS NOT NULL AND sender IS NOT NULL")
    return [
        *_viewed(streams, of_all, of_all, IS_IT),
        *_spans(spans, of_all, start, "upto"),
        _in_view(rooms, of_all, "reached", 3, b="begin"),
        _in_view(own, "sender", "seq", 1, h=f"-{IS_IT}"),
        *_spans(spans.where("NOT with_own"), "reader", start, "upto"),
    ]


def _in_view(frame: DataFrame, view: str, seq: str, phase: int, **columns: str) -> DataFrame:
    place = f"-(({seq}) * 4 + {phase})"
    return _rows(frame, VIEW, f"lane, {view}", f"({seq}) DIV {SLICE_OF_VIEW}", place, **columns)


def _viewed(streams: Streams, told_to: str, stored_for: str, is_it: str) -> list[DataFrame]:
    """What there is to read, and when it was certainly there."""
    told = streams["appended"].where("outcome = 'ok' AND seq IS NOT NULL")
    stood = streams["stored"].where("seq IS NOT NULL")
    return [_in_view(told, told_to, "seq", 1, e="end"), _in_view(stood, stored_for, "seq", 1, h=is_it)]


def _spans(reads: DataFrame, view: str, start: str, upto: str) -> list[DataFrame]:
    """From the end of the log a read begins to cover at its end, and ends where it started."""
    return [_in_view(reads, view, upto, 3, n="1"), _in_view(reads, view, start, 3, n="-1")]


def _receives(streams: Streams) -> list[DataFrame]:
    """What an answer holds: each message once, and sent by somebody."""
    got = streams["delivered"]
    return [
        _rows(got, MESSAGE, "'', id", "xxhash64('')", "0", f=str(RECEIVED)),
        _rows(got, ANSWER, "end, id", "0", "0", n="1"),
    ]


def _acks(streams: Streams) -> list[DataFrame]:
    """Each reader's acknowledgements in time, and what it was delivered or told after them."""
    acked, time = streams["acked"], f"{{0}} DIV {SLICE_OF_TIME}"
    begun = ("lane, reader", time.format("begin"), "begin")
    ok = "CASE WHEN outcome = 'ok' THEN {} END"
    # All that stands above the furthest that the cursor can have been stands above what was acknowledged.
    low = streams["reads"].where("least IS NOT NULL AND (before IS NULL OR least <= before)")
    told = {"b": ok.format("-answer"), "u": "seq", "v": ok.format("answer")}
    return [
        _rows(acked.where("outcome = 'ok'"), TIME, "lane, reader", time.format("end"), "end", e="-seq"),
        _rows(acked.where("outcome <> 'fail'"), TIME, *begun, **told),
        _rows(low, TIME, *begun, b="1 - least"),
        _rows(streams["positions"], TIME, "lane, reader", time.format(str(NEVER)), str(NEVER), h="seq"),
        _rows(streams["jumps"], TIME, "lane, reader", "0", "begin", f=str(JUMPED)),
    ]


# -- holds


def _holds(streams: Streams) -> DataFrame:
    """Each key's claims, renewals and releases in the order in which they were answered."""
    is_ok = "outcome = 'ok' AND granted"
    held = f"{is_ok} AND op <> 'release'"
    claimed = f"{is_ok} AND op = 'claim'"
    freed = "outcome <> 'fail' AND op = 'release' AND coalesce(granted, TRUE)"
    unsure = "outcome <> 'fail' AND granted IS NULL AND op = 'claim'"
    place = "CASE WHEN outcome = 'info' THEN begin ELSE end END"
    hand = f"named_struct('at', {place}, 'who', xxhash64(holder), 'until', coalesce(until_ms, {NEVER}))"
    bits = {
        CLAIMED: claimed,
        REFUSED: "outcome = 'ok' AND op = 'claim' AND NOT granted",
        KEPT: f"{is_ok} AND op <> 'claim'",
        DONE: "is_final",
    }

    def of(condition: str, value: str) -> str:
        return f"CASE WHEN {condition} THEN {value} END"

    return _rows(
        streams["holds"],
        HOLD,
        "lane, key",
        "0",
        place,
        f=_bits(bits),
        e=of(held, "-end"),
        b=of(claimed, "-begin"),
        n="at_ms",
        h="at_ms_min",
        u="xxhash64(holder)",
        v=of(claimed, "-token"),
        held=of(held, hand),
        claimed=of(claimed, hand),
        freed=of(freed, hand),
        unsure=of(unsure, hand),
        released=of(f"{is_ok} AND op = 'release'", place),
    )


def _addressees(streams: Streams) -> list[DataFrame]:
    """Who claims a message is who it was sent to."""
    sent = streams["appended"].where("outcome <> 'fail' AND id IS NOT NULL")
    taken = streams["holds"].where("op = 'claim' AND outcome = 'ok' AND granted")
    to_all = f"CASE WHEN addressee IS NULL THEN {TO_ALL} ELSE {SENT} END"
    return [
        _rows(sent, ADDRESSEE, "id", "0", "0", f=to_all, u="xxhash64(addressee)"),
        _rows(taken, ADDRESSEE, "key", "0", "0", f=str(TAKEN), v="xxhash64(holder)"),
    ]


def _letters(streams: Streams) -> list[DataFrame]:
    """Failures of a message and its place among the dead letters."""
    return [
        _rows(streams["failed"], LETTER, "key", "0", "0", n="1"),
        _rows(streams["stored"].where("is_dead"), LETTER, "id", "0", "0", f="1"),
    ]


# -- what facts show alone, or summed up


def sums_of(streams: Streams, checks: set[Check]) -> DataFrame | None:
    """A row a stream and run: what is odd in itself, and the sum of what was delivered, exported and stored."""
    of_reads, of_delivered = "rows > `limit`", ""
    if polls.check in checks:
        of_delivered = "(place > 0 AND seq <= prev) OR addressee <> reader"
    elif syncs.check in checks:
        of_reads += " OR least <= before OR (NOT is_moving AND after <> before)"
        of_delivered = "(place > 0 AND seq <= prev) OR (NOT with_own AND sender = reader)"
    elif receives.check in checks:
        in_order = "priority < prev_priority OR (priority = prev_priority AND sent_at >= prev_sent_at)"
        of_delivered = f"addressee <> reader OR NOT is_asked OR (place > 0 AND NOT ({in_order}))"
    made = []
    if of_delivered:
        made += [
            _sum(streams["reads"], READS, of_reads),
            _sum(streams["delivered"], READS, of_delivered, f"CASE WHEN seq IS NOT NULL THEN -{IS_IT} END"),
        ]
    if export.check in checks:
        made += [
            _sum(streams["exports"], EXPORT, "torn"),
            _sum(streams["exported"], EXPORT, "seq <= prev", "xxhash64(seq)"),
            _sum(streams["stored"].where("seq IS NOT NULL"), EXPORT, "FALSE", "-xxhash64(seq)", "seq"),
        ]
    return reduce(DataFrame.unionAll, made) if made else None


def _sum(frame: DataFrame, suspicion: int, odd: str, summed: str = "0", most: str = "NULL") -> DataFrame:
    """`s` is of what, `w` how much, `bits` what is odd, and `v` the most of something."""
    bits = f"CASE WHEN {odd} THEN {suspicion} ELSE 0 END"
    rows = frame.selectExpr(
        f"{RUN} AS r", f"CAST({summed} AS LONG) AS w", f"CAST({bits} AS LONG) AS bits", f"CAST({most} AS LONG) AS v"
    )
    by_run = rows.groupBy("r").agg(F.sum("w").alias("w"), F.bit_or("bits").alias("bits"), F.max("v").alias("v"))
    return by_run.selectExpr("r", f"CAST({SUM} AS BYTE) AS k", f"CAST({suspicion} AS LONG) AS s", "w", "bits", "v")
