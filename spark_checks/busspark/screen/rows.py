"""The statements of each fact to the others of its key, and its questions to them: rows of longs.

Every row has its run (a hash), a kind of key (`k`), the key (`g`), its slice (`s`) and its place there (`o`). Rows of a
key meet in one window, in the order of their places; a log is walked from its end. All rows are shuffled and sorted, so
they are narrow, and a column means something else to each kind; it is null if a row has nothing to say:

    f    bits, which also tell a hold how to be read (`window`)
    n    a count; in a view, how many reads begin (-1) or end (+1) to cover later rows; in a log, when it was told
    h    a stored message, as a hash; in a dense log, its seq; of a message the seq under which it stands, above
         STANDING, and the newest seq told before each attempt, below it
    u v  hashes or seqs that must be one and the same for a message; in a log, the message and its seq
    b t  of a hold, when it began, and until when its lease runs; its n and h are the bus's time, u its holder

A fact itself knows the facts before it in time (`busproof.oracle.checks.extract.following`): they are asked row by row.
Messages read are compared with those that are there by sums of hashes, not one by one: a read covers a span of its
reader's view, so all that was delivered must sum up to all that stands there, each as often as it is covered (`edges`).
An answer whose messages rise within its span cannot give one back that another left out, so nothing cancels.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.oracle.checks import (
    Check,
    acks,
    content,
    dead_letters,
    durable,
    export,
    lease,
    order,
    polls,
    receives,
    syncs,
)
from busspark.known import ACKS, EXPORT, READS

LONGS = ("f", "n", "h", "u", "v", "b", "t")
MESSAGE, SEQ, VIEW, HOLD, ADDRESSEE, LETTER, ANSWER, NAMELESS, SUM, READER, CONTENT, LANE = range(1, 13)
SLICE_OF_LOG, SLICE_OF_VIEW = 2**16, 2**20
HALF = 2**32
STANDING = 2**61
NEVER = 2**62

# Bits of MESSAGE
DUE, TOLD, POSSIBLE, NEW, STANDS, INVITED, RECEIVED, FAILED = (1 << n for n in range(8))
# Bits of HOLD: a claim; a refused one; what only the holder may do; a release after which there is nothing to claim;
# and, for those after it, a lease, a release that may have happened, a granted one, a claim that nobody answered, and a
# lease from when it was asked for; a lease too short. Of a message that was shown to its reader, nothing else.
CLAIMED, REFUSED, KEPT, DONE, HELD, FREED, RELEASED, UNSURE, COMING, SHORT, SHOWN = (1 << n for n in range(11))
# Bits of ADDRESSEE
SENT, TO_ALL, TAKEN = (1 << n for n in range(3))
# Bits of SEQ
LATE = 1

Streams = Mapping[str, DataFrame]
RUN = "xxhash64(run)"
IS_IT = "xxhash64(lane, seq, id, sender, addressee)"
OF_ALL = "CAST(NULL AS STRING)"


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
    if lease.check in checks or lease.check_deliveries in checks:
        made += _holds(streams, may_repeat=lease.check_deliveries not in checks)
    if lease.check_deliveries in checks:
        made += _addressees(streams)
    if content.check in checks:
        made += _contents(streams)
    if dead_letters.check in checks:
        made += _letters(streams)
    return reduce(DataFrame.unionAll, made) if made else None


def _rows(frame: DataFrame, kind: int, key: str, slice_: str, place: str, **columns: str) -> DataFrame:
    casts = [f"CAST({columns.get(name, 'NULL')} AS LONG) AS {name}" for name in LONGS]
    keyed = (f"{RUN} AS r", f"CAST({kind} AS BYTE) AS k", f"xxhash64({kind}, run, {key}) AS g")
    where = (f"CAST({slice_} AS LONG) AS s", f"CAST({place} AS LONG) AS o")
    return frame.selectExpr(*keyed, *where, *casts)


def _bits(conditions: Mapping[int, str]) -> str:
    return " + ".join(f"CASE WHEN {condition} THEN {bit} ELSE 0 END" for bit, condition in conditions.items())


# -- messages and logs


def _unnamed(expression: str) -> str:
    """`said`, for a message that is known by its id alone."""
    return f"CASE WHEN name IS NULL THEN {expression} END"


def _messages(streams: Streams, *, with_addressee: bool) -> list[DataFrame]:
    """Each message by its id, and by the name that its sender gave it: attempts and rows of the final state."""
    bits = {
        DUE: "outcome = 'ok' AND end <= dump_at AND (expires_ms IS NULL OR expires_ms > newest_ms)",
        TOLD: "outcome = 'ok' AND seq IS NOT NULL",
        POSSIBLE: "outcome <> 'fail'",
        NEW: "outcome = 'ok' AND is_new",
        FAILED: "outcome = 'fail'",
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
    lane, by_its_name = "xxhash64(lane)", _bits({bit: bits[bit] for bit in (TOLD, POSSIBLE, FAILED)})
    before = "CASE WHEN outcome <> 'fail' THEN coalesce(newest, 0) END"
    stands_under = f"seq + {STANDING}"
    invited = f"CASE WHEN is_own THEN 0 ELSE {INVITED} END"
    by_id, by_name = ("lane, id", lane, "0"), ("1, lane, name", "0", "0")
    return [
        _rows(tried.where("id IS NOT NULL"), MESSAGE, *by_id, f=_bits(bits), n=counted, h=_unnamed(before), u=told_seq),
        _rows(tried.where(named), MESSAGE, *by_name, f=by_its_name, h=before, u=told_seq),
        _rows(tried.where("name IS NULL AND id IS NULL AND outcome <> 'fail'"), NAMELESS, "0", lane, "0", n="1"),
        _rows(stood, MESSAGE, *by_id, f=stands, n=_unnamed(alive), h=_unnamed(stands_under), v=seq),
        _rows(stood.where(named), MESSAGE, *by_name, f=invited, n=alive, h=stands_under),
    ]


def _log(streams: Streams, *, is_dense: bool) -> list[DataFrame]:
    """Each log from its end: whose its seqs are and, if none may be left out, the seqs that stand there."""
    stored = streams["appended"].where("outcome = 'ok' AND seq IS NOT NULL AND coalesce(name, id) IS NOT NULL")
    where = ("lane", f"seq DIV {SLICE_OF_LOG}", "-seq")
    # Seqs that had been told before a message was sent stand below it, and those before it in its batch.
    late = f"CASE WHEN newest > seq OR below > seq THEN {LATE} ELSE 0 END"
    rows = [_rows(stored, SEQ, *where, f=late, n="end", u="xxhash64(coalesce(name, id))", v="seq")]
    return [*rows, _rows(streams["stored"].where("seq IS NOT NULL"), SEQ, *where, h="seq")] if is_dense else rows


# -- reads


def _polls(streams: Streams) -> list[DataFrame]:
    """The messages to one reader are a view of their own; those to all are another, which everyone reads."""
    reads = streams["reads"]
    return [_viewed(streams, "addressee"), *_spans(reads, OF_ALL), *_spans(reads, "reader")]


def _syncs(streams: Streams) -> list[DataFrame]:
    """A topic is a view; a reader's own messages, which it may leave out, are another, to be subtracted."""
    reads = streams["reads"]
    own = streams["stored"].where("seq IS NOT NULL AND sender IS NOT NULL")
    return [
        _viewed(streams, OF_ALL),
        *_spans(reads, OF_ALL),
        _in_view(own, "sender", "seq", 1, h=f"-{IS_IT}"),
        *_spans(reads.where("NOT with_own"), "reader"),
    ]


def _in_view(frame: DataFrame, view: str, seq: str, phase: int, **columns: str) -> DataFrame:
    place = f"-(({seq}) * 4 + {phase})"
    return _rows(frame, VIEW, f"lane, {view}", f"({seq}) DIV {SLICE_OF_VIEW}", place, **columns)


def _viewed(streams: Streams, of: str) -> DataFrame:
    """The messages that there are to read."""
    return _in_view(streams["stored"].where("seq IS NOT NULL"), of, "seq", 1, h=IS_IT)


def _spans(reads: DataFrame, view: str) -> list[DataFrame]:
    """Seen from the end of the log, a read begins to cover at its end, and ends where it started.

    Most reads start where the reader's last one ended; that needs no row.
    """
    shown = reads.where("start IS NOT NULL")
    broken = shown.where("joined IS NULL OR joined <> start")
    last = shown.groupBy("run", "lane", "reader", "with_own").agg(F.max_by("upto", "end").alias("upto"))
    return [
        _in_view(broken, view, "start", 3, n="-1"),
        _in_view(broken.where("joined IS NOT NULL"), view, "joined", 3, n="1"),
        _in_view(last, view, "upto", 3, n="1"),
    ]


def _receives(streams: Streams) -> list[DataFrame]:
    """The messages of an answer: each is there once, and sent by somebody."""
    received = streams["delivered"].where("id IS NOT NULL")
    return [
        _rows(received, MESSAGE, "'', id", "xxhash64('')", "0", f=str(RECEIVED)),
        _rows(received, ANSWER, "end, id", "0", "0", n="1"),
    ]


def _contents(streams: Streams) -> list[DataFrame]:
    """All contents of a message must be one."""
    return [_rows(streams["contents"], CONTENT, "lane, message", "0", "0", u="digest")]


# -- holds


def _holds(streams: Streams, *, may_repeat: bool) -> list[DataFrame]:
    """Each key's claims in the order in which they were answered, held against the calls that may have come before.

    If a holder may claim again and give back (`may_repeat`), renewals and releases are asked when they begin, as a key
    may be given to the next one before its last holder reads the answer; and a refusal means that somebody holds the
    key, perhaps one that is answered later.
    """
    is_ok = "outcome = 'ok' AND granted"
    held = f"{is_ok} AND op <> 'release'"
    claimed = f"{is_ok} AND op = 'claim'"
    freed = {FREED: "outcome <> 'fail' AND op = 'release' AND coalesce(granted, TRUE)"}
    kept = {KEPT: f"{is_ok} AND op <> 'claim'"}
    bits = {
        CLAIMED: claimed,
        REFUSED: "outcome = 'ok' AND op = 'claim' AND NOT granted",
        DONE: "is_final",
        HELD: held,
        RELEASED: f"{is_ok} AND op = 'release'",
        UNSURE: "outcome <> 'fail' AND granted IS NULL AND op = 'claim'",
        SHORT: "until_ms < due_ms",
    }
    place = "CASE WHEN outcome = 'info' THEN begin ELSE end END"
    hand = {"u": "xxhash64(holder)", "t": f"coalesce(until_ms, {NEVER})"}
    token = f"CASE WHEN {claimed} THEN -token END"
    columns = {"n": "at_ms", "h": "at_ms_min", "v": token, "b": "begin", **hand}
    holds, where = streams["holds"], ("lane, key", "0")
    if not may_repeat:
        shown = streams["delivered"].where("id IS NOT NULL")
        return [
            _rows(holds, HOLD, *where, place, f=_bits(bits | kept | freed), **columns),
            _rows(shown, HOLD, "lane, id", "0", "begin", f=str(SHOWN)),
        ]
    asked = holds.where(f"({held}) OR ({freed[FREED]})")
    return [
        _rows(holds, HOLD, *where, place, f=_bits(bits), **columns),
        _rows(asked, HOLD, *where, "begin", f=_bits({COMING: held} | freed | kept), **hand),
    ]


def _addressees(streams: Streams) -> list[DataFrame]:
    """The claimer of a message is its addressee."""
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


# -- facts alone, or summed up


def sums_of(streams: Streams, checks: set[Check]) -> DataFrame | None:
    """One row per stream and run: facts odd in themselves, and the sum of all delivered, exported and stored.

    And one row per reader: its acknowledgements, the answers to them, and its place in the end.
    """
    of_reads, of_delivered = "rows > `limit`", ""
    if polls.check in checks:
        stale = "rows < `limit` AND newest > greatest(before, coalesce(most, 0))"
        of_reads += f" OR (before IS NOT NULL AND {stale})"
        of_delivered = "(place > 0 AND seq <= prev) OR addressee <> reader"
    elif syncs.check in checks:
        stale = (
            "((rows < `limit` AND is_moving) OR is_all) AND newest > greatest(coalesce(after, 0), coalesce(most, 0))"
        )
        of_reads += f" OR least <= before OR (NOT is_moving AND after <> before) OR ({stale})"
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
    if syncs.check in checks:
        made += _cursors(streams)
    if acks.check in checks:
        made += [_sum(streams["reads"], ACKS, "least <= acked"), *_readers(streams)]
    if export.check in checks:
        made += [
            _sum(streams["exports"], EXPORT, "torn"),
            _sum(streams["reached"], EXPORT, "seq < told"),
            _sum(streams["exported"], EXPORT, "seq <= prev", "xxhash64(seq)"),
            _sum(streams["stored"].where("seq IS NOT NULL"), EXPORT, "FALSE", "-xxhash64(seq)", "seq"),
        ]
    return reduce(DataFrame.unionByName, made) if made else None


def _readers(streams: Streams) -> list[DataFrame]:
    """`n`: the seq it was told it acknowledged; `u`: the one it asked to; `h`: its place."""
    ok = "CASE WHEN outcome = 'ok' THEN {} END"
    odd = "outcome = 'ok' AND (answer < acked OR answer > greatest(seq, coalesce(acked, 0)))"
    odd = f"CASE WHEN {odd} THEN {ACKS} ELSE 0 END"
    # Those that were asked for after the final state do not explain it.
    acked = streams["acked"].where("outcome <> 'fail'").join(F.broadcast(streams["about"]), "run")
    return [
        _of_reader(acked, bits=odd, n=ok.format("seq"), u="CASE WHEN begin < dump_at THEN seq END"),
        _of_reader(streams["positions"], h="seq"),
        _of_reader(streams["jumps"], f="1"),
    ]


def _cursors(streams: Streams) -> list[DataFrame]:
    """`u`: the furthest cursor that an answer told; `v`: the newest seq of its lane."""
    return [
        _of_lane(streams["reads"], u="after"),
        _of_lane(streams["jumps"], u="seq"),
        _of_lane(streams["stored"], v="seq"),
        _of_lane(streams["appended"], v="seq"),
    ]


def _of_lane(frame: DataFrame, **columns: str) -> DataFrame:
    return _summed(frame, LANE, f"xxhash64({LANE}, run, lane)", "0", **columns)


def _sum(frame: DataFrame, suspicion: int, odd: str, summed: str = "0", most: str = "NULL") -> DataFrame:
    """`s` is the suspicion, `w` the amount, `bits` the oddities, and `v` the most of something."""
    bits = f"CASE WHEN {odd} THEN {suspicion} ELSE 0 END"
    return _summed(frame, SUM, "0", str(suspicion), bits=bits, w=summed, v=most)


def _of_reader(frame: DataFrame, **columns: str) -> DataFrame:
    return _summed(frame, READER, f"xxhash64({READER}, run, lane, reader)", "0", **columns)


_HOW = {"w": F.sum, "bits": F.bit_or}  # the others by their greatest


def _summed(frame: DataFrame, kind: int, key: str, slice_: str, **columns: str) -> DataFrame:
    casts = [f"CAST({column} AS LONG) AS {name}" for name, column in columns.items()]
    rows = frame.selectExpr(f"{RUN} AS r", f"CAST({key} AS LONG) AS g", *casts)
    summed = rows.groupBy("r", "g").agg(*(_HOW.get(name, F.max)(name).alias(name) for name in columns))
    others = [f"CAST(NULL AS LONG) AS {name}" for name in ("f", "n", "h", "u", "v", "w") if name not in columns]
    bits = "bits" if "bits" in columns else "CAST(0 AS LONG) AS bits"
    of_all = ("r", f"CAST({kind} AS BYTE) AS k", "g", f"CAST({slice_} AS LONG) AS s", bits)
    return summed.selectExpr(*of_all, *(name for name in columns if name != "bits"), *others)
