"""What each fact tells to the others of its key, and what it asks them: rows of longs.

Every row has its run, a kind of key (`k`), the key (`g`), its slice (`s`) and its place there (`o`). Rows of a key meet
in one window, in the order of their places. The other columns, null where a row has nothing to say:

    f   bits        n   counts: in the low half, in the high half
    a   a number of which the largest so far counts: when an append began, what was acknowledged, a token
    b   what that must stay below
    u v hashes or seqs that must be one and the same at one place; x what a row says they are
    lo lh lw   the last row of a log (seq, sender, how many of that sender's stand there in a row) or the last holder
               (since, who, until when)
    p y        up to where a reader had read, and whose messages may be left out
    me         until when the answers to grants took
    go gh      the last granted claim: since, who        ro rh   the last release that may have happened
    gr         the last granted release                  uo uh   the last claim that nobody answered
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.checks import Check, acks, dead_letters, durable, export, lease, order, polls, receives, syncs

COLUMNS = (
    "f",
    "n",
    "a",
    "b",
    "u",
    "v",
    "x",
    "lo",
    "lh",
    "lw",
    "p",
    "y",
    "me",
    "go",
    "gh",
    "ro",
    "rh",
    "gr",
    "uo",
    "uh",
)
MESSAGE, SEQ, VIEW, TIME, NEWS, HOLD, ADDRESSEE, LETTER, ITSELF, ANSWER, NAMELESS = range(1, 12)
SLICE_OF_LOG, SLICE_OF_VIEW, SLICE_OF_TIME = 2**16, 2**20, 2**22
HALF = 2**32

# Bits of MESSAGE
DUE, TOLD, POSSIBLE, NEW, STANDS, INVITED, RECEIVED = (1 << n for n in range(7))
# Bits of HOLD
CLAIMED, REFUSED, KEPT, DONE = (1 << n for n in range(4))
# Bits of ADDRESSEE
SENT, TO_ALL, TAKEN = (1 << n for n in range(3))
# Bits of ITSELF: what a fact shows alone
READ_ODD, EXPORT_ODD = 1, 2
JUMPED = 1

Streams = Mapping[str, DataFrame]


def rows_of(streams: Streams, checks: set[Check]) -> DataFrame | None:
    """The rows of all facts that these checks look at; None if the screen knows none of them."""
    made: list[DataFrame] = []
    if durable.check in checks or receives.check in checks:
        made += _messages(streams)
    if order.check in checks or order.check_dense in checks or export.check in checks:
        made += _log(streams)
    if polls.check in checks:
        made += _polls(streams)
    if syncs.check in checks:
        made += _syncs(streams)
    if receives.check in checks:
        made += _receives(streams)
    if acks.check in checks:
        made += _acks(streams)
    if lease.check in checks or lease.check_deliveries in checks:
        made += _holds(streams)
    if lease.check_deliveries in checks:
        made += _addressees(streams)
    if dead_letters.check in checks:
        made += _letters(streams)
    if export.check in checks:
        made += _export(streams)
    return reduce(DataFrame.unionAll, made) if made else None


def _rows(frame: DataFrame, kind: int, key: str, slice_: str, place: str, **columns: str) -> DataFrame:
    told = [f"CAST({columns.get(name, 'NULL')} AS LONG) AS {name}" for name in COLUMNS]
    keyed = f"xxhash64({kind}, run, {key}) AS g"
    where = (f"CAST({slice_} AS LONG) AS s", f"CAST({place} AS LONG) AS o")
    return frame.selectExpr("run", f"CAST({kind} AS BYTE) AS k", keyed, *where, *told)


def _slice_of_time() -> str:
    return f"{{0}} DIV {SLICE_OF_TIME}"


def _bits(**conditions: str) -> str:
    return " + ".join(f"CASE WHEN {said} THEN {bit[1:]} ELSE 0 END" for bit, said in conditions.items())


def _messages(streams: Streams) -> list[DataFrame]:
    """Each message by its id, and by the name that its sender gave it: attempts and rows of the final state."""
    bits = _bits(
        **{
            f"_{DUE}": "outcome = 'ok' AND end <= dump_at AND (expires_ms IS NULL OR expires_ms > newest_ms)",
            f"_{TOLD}": "outcome = 'ok'",
            f"_{POSSIBLE}": "outcome <> 'fail'",
            f"_{NEW}": "outcome = 'ok' AND is_new",
        }
    )
    counted = f"CASE WHEN outcome = 'ok' THEN {HALF} ELSE 0 END"
    told_seq = "CASE WHEN outcome = 'ok' THEN seq END"
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
        _rows(tried.where("id IS NOT NULL"), MESSAGE, "lane, id", lane, "0", f=bits, n=counted, u=told_seq),
        _rows(tried.where(named), MESSAGE, *by_name, f=possible, u=told_seq),
        _rows(tried.where("name IS NULL AND id IS NULL AND outcome <> 'fail'"), NAMELESS, "0", lane, "0"),
        _rows(stood, MESSAGE, "lane, id", lane, "0", f=stands, n=unnamed_alive, v="seq"),
        _rows(stood.where(named), MESSAGE, *by_name, f=invited, n=alive),
    ]


def _log(streams: Streams) -> list[DataFrame]:
    """Each log by seq: when its messages were appended, and what stands there."""
    told = streams["appended"].where("outcome = 'ok' AND seq IS NOT NULL AND coalesce(name, id) IS NOT NULL")
    slice_ = f"seq DIV {SLICE_OF_LOG}"
    stood = streams["stored"].where("seq IS NOT NULL")
    of_all = "CASE WHEN addressee IS NULL THEN {} END"
    return [
        _rows(told, SEQ, "lane", slice_, "seq", a="least(begin, since)", b="end", u="xxhash64(coalesce(name, id))"),
        _rows(
            stood,
            SEQ,
            "lane",
            slice_,
            "seq",
            n="1",
            v="xxhash64(id, sender, addressee)",
            lo=of_all.format("seq"),
            lh=of_all.format("xxhash64(sender)"),
            lw=of_all.format("following"),
        ),
    ]


def _delivered(streams: Streams) -> DataFrame:
    """A delivered message against the log: it stands there so, and nothing for its reader stands before it unread."""
    of_seq = streams["delivered"].where("seq IS NOT NULL")
    is_it = "CASE WHEN id IS NOT NULL THEN xxhash64(id, sender, addressee) END"
    own = "CASE WHEN NOT with_own THEN xxhash64(reader) END"
    return _rows(of_seq, SEQ, "lane", f"seq DIV {SLICE_OF_LOG}", "seq", p="prev", x=is_it, y=own)


def _odd(frame: DataFrame, condition: str, bit: int = READ_ODD) -> DataFrame:
    return _rows(frame.where(condition), ITSELF, "0", "0", "0", f=str(bit))


def _polls(streams: Streams) -> list[DataFrame]:
    """The messages to one reader are a log of their own; those to all stand in the bus's."""
    reads, slice_ = streams["reads"], f"seq DIV {SLICE_OF_VIEW}"
    to_one = streams["stored"].where("seq IS NOT NULL AND addressee IS NOT NULL")
    got = streams["delivered"].where("seq IS NOT NULL AND prev IS NOT NULL")
    room = reads.where("rows < `limit` AND before IS NOT NULL")
    reached = "greatest(before, coalesce(most, 0)) + 1"
    told = streams["appended"].where("outcome = 'ok' AND seq IS NOT NULL")
    time = _slice_of_time()
    return [
        _delivered(streams),
        _rows(to_one, VIEW, "addressee", slice_, "seq", lo="seq"),
        _rows(got, VIEW, "reader", slice_, "seq", p="prev"),
        _rows(told, NEWS, "lane, addressee", time.format("end"), "end", a="seq"),
        _rows(room, NEWS, "lane, CAST(NULL AS STRING)", time.format("begin"), "begin", b=reached),
        _rows(room, NEWS, "lane, reader", time.format("begin"), "begin", b=reached),
        _odd(reads, "rows > `limit`"),
        _odd(streams["delivered"], "(place > 0 AND seq <= prev) OR addressee <> reader"),
    ]


def _syncs(streams: Streams) -> list[DataFrame]:
    """A sync's cursor passes over nothing that its reader had not read."""
    reads, time = streams["reads"], _slice_of_time()
    passed = reads.where("is_moving AND after > coalesce(most, before)")
    room = reads.where("rows < `limit` AND is_moving")
    told = streams["appended"].where("outcome = 'ok' AND seq IS NOT NULL")
    own = "CASE WHEN NOT with_own THEN xxhash64(reader) END"
    after = f"(after + 1) DIV {SLICE_OF_LOG}"
    reached = "greatest(coalesce(after, 0), coalesce(most, 0)) + 1"
    return [
        _delivered(streams),
        _rows(passed, SEQ, "lane", after, "after + 1", p="coalesce(most, before)", y=own),
        _rows(told, NEWS, "lane", time.format("end"), "end", a="seq"),
        _rows(room, NEWS, "lane", time.format("begin"), "begin", b=reached),
        _odd(reads, "rows > `limit` OR least <= before OR (NOT is_moving AND after <> before)"),
        _odd(streams["delivered"], "(place > 0 AND seq <= prev) OR (NOT with_own AND sender = reader)"),
    ]


def _receives(streams: Streams) -> list[DataFrame]:
    """What an answer holds: each message once, in order, for this agent, and sent by somebody."""
    got = streams["delivered"]
    in_order = "priority < prev_priority OR (priority = prev_priority AND sent_at >= prev_sent_at)"
    odd = f"addressee <> reader OR NOT is_asked OR (place > 0 AND NOT ({in_order}))"
    return [
        _rows(got, MESSAGE, "'', id", "xxhash64('')", "0", f=str(RECEIVED)),
        _rows(got, ANSWER, "end, id", "0", "0", n="1"),
        _odd(streams["reads"], "rows > `limit`"),
        _odd(got, odd),
    ]


def _acks(streams: Streams) -> list[DataFrame]:
    """Each reader's acknowledgements in time, and what it was delivered or told after them."""
    acked, slice_ = streams["acked"], _slice_of_time()
    got = streams["reads"].where("least IS NOT NULL")
    never = str(2**62)
    ok = "CASE WHEN outcome = 'ok' THEN {} END"
    return [
        _rows(acked.where("outcome = 'ok'"), TIME, "lane, reader", slice_.format("end"), "end", a="seq"),
        _rows(
            acked.where("outcome <> 'fail'"),
            TIME,
            "lane, reader",
            slice_.format("begin"),
            "begin",
            b=ok.format("answer + 1"),
            u="seq",
            v=ok.format("answer"),
        ),
        _rows(got, TIME, "lane, reader", slice_.format("begin"), "begin", b="least"),
        _rows(streams["positions"], TIME, "lane, reader", slice_.format(never), never, x="seq"),
        _rows(streams["jumps"], TIME, "lane, reader", "0", "begin", f=str(JUMPED)),
    ]


def _holds(streams: Streams) -> list[DataFrame]:
    """Each key's claims, renewals and releases in the order in which they were answered."""
    is_ok = "outcome = 'ok' AND granted"
    held = f"{is_ok} AND op <> 'release'"
    claimed = f"{is_ok} AND op = 'claim'"
    freed = "outcome <> 'fail' AND op = 'release' AND coalesce(granted, TRUE)"
    maybe = "outcome <> 'fail' AND granted IS NULL AND op = 'claim'"
    who, place = "xxhash64(holder)", "CASE WHEN outcome = 'info' THEN begin ELSE end END"
    bits = _bits(
        **{
            f"_{CLAIMED}": claimed,
            f"_{REFUSED}": "outcome = 'ok' AND op = 'claim' AND NOT granted",
            f"_{KEPT}": f"{is_ok} AND op <> 'claim'",
            f"_{DONE}": "is_final",
        }
    )

    def of(condition: str, value: str) -> str:
        return f"CASE WHEN {condition} THEN {value} END"

    return [
        _rows(
            streams["holds"],
            HOLD,
            "lane, key",
            "0",
            place,
            f=bits,
            a=of(claimed, "token"),
            b="begin",
            n="at_ms",
            x="at_ms_min",
            p="token",
            y=who,
            lo=of(held, place),
            lh=of(held, who),
            lw=of(held, f"coalesce(until_ms, {2**62})"),
            me=of(held, "end"),
            go=of(claimed, place),
            gh=of(claimed, who),
            ro=of(freed, place),
            rh=of(freed, who),
            gr=of(f"{is_ok} AND op = 'release'", place),
            uo=of(maybe, place),
            uh=of(maybe, who),
        )
    ]


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


def _export(streams: Streams) -> list[DataFrame]:
    """Each line of the last export at its seq."""
    lines = streams["exported"]
    return [
        _rows(lines, SEQ, "''", f"seq DIV {SLICE_OF_LOG}", "seq", n=str(HALF)),
        _odd(lines, "seq < prev", EXPORT_ODD),
        _odd(streams["exports"], "torn", EXPORT_ODD),
    ]
