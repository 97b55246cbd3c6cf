"""syncs: every sync returns the messages after the reader's cursor, in order, and moves it over nothing unread.

A reader's cursor before a sync is the one that its last sync was answered, or the acknowledgement if that is further,
or the place it was reset to. From there the messages of others follow without a gap; within one answer they do so for
any cursor. A sync whose answer is lost may still happen at any time, but once: it explains one gap before an answer,
and the reader is followed on from there. A reset whose answer is lost ends that. An acknowledgement behind the
cursor leaves it, or puts it back there, as the bus chose (B5) and the answer tells.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import pairwise

from busproof.oracle.checks.facts import Appended, Delivered, Facts, Jump, Read, Stored
from busproof.oracle.checks.verdict import Verdict, Witness, judged

Log = list[tuple[int, str]]  # (seq, sender) of a topic's final state, in order
Reader = tuple[str, str]  # lane, reader


def check(facts: Facts) -> Verdict:
    """One pass over each reader's syncs, with the topic's log beside it."""
    logs: dict[str, Log] = defaultdict(list)
    for row in facts.stored:
        logs[row.lane].append((row.seq or 0, row.sender or ""))
    for log in logs.values():
        log.sort()
    answers = facts.answers()
    witnesses = _stale(facts, answers)
    readers: dict[Reader, list[Read | Jump]] = defaultdict(list)
    of_all: list[Read | Jump] = [*facts.reads, *facts.jumps]
    for step in sorted(of_all, key=lambda step: step.end):
        readers[step.lane, step.reader].append(step)
    for (lane, _), steps in readers.items():
        witnesses += _followed(steps, logs[lane], answers)
    if facts.dump_at is not None:
        witnesses += _otherwise(facts, answers) + _beyond(facts, facts.dump_at)
    return judged("syncs", witnesses, len(facts.reads), facts.known.unknown_because or facts.known.no_dump)


def _followed(steps: list[Read | Jump], log: Log, answers: dict[int, list[Delivered]]) -> list[Witness]:
    witnesses: list[Witness] = []
    lost = sorted(step.begin for step in steps if isinstance(step, Jump) and not step.is_back)
    is_known = not any(isinstance(step, Jump) and step.is_back and step.seq is None for step in steps)
    cursor, explained = 0, 0
    for step in steps:
        if isinstance(step, Jump):
            cursor = step.seq if step.is_back and step.seq is not None else cursor
            continue
        rows = answers[step.end]
        witnesses += _in_itself(step, rows, log)
        before = max(cursor, step.ack_through or 0)
        if step.ack_through is not None and step.after == step.ack_through < cursor:
            before = step.ack_through
        cursor = step.after or 0
        if not is_known:
            continue
        gap = _gap(step, before, rows, log)
        if gap and explained < bisect_left(lost, step.end):
            explained += 1
        else:
            witnesses += gap
        witnesses += [Witness((step.end,), "redelivered", seq, before) for seq in _seqs(rows) if seq <= before]
        if not step.is_moving and cursor < before:
            witnesses.append(Witness((step.end,), "cursor_moved", cursor, before))
    return witnesses


def _seqs(rows: list[Delivered]) -> list[int]:
    return sorted({row.seq or 0 for row in rows})


def _passed(sync: Read, rows: list[Delivered]) -> int:
    return max([*_seqs(rows), (sync.after or 0) if sync.is_moving else 0])


def _in_itself(sync: Read, rows: list[Delivered], log: Log) -> list[Witness]:
    seqs = [row.seq or 0 for row in rows]
    witnesses = [Witness((sync.end,), "unordered", a, b) for a, b in pairwise(seqs) if b <= a]
    if not sync.with_own:
        witnesses += [Witness((sync.end,), "own_message", row.seq or 0) for row in rows if row.sender == sync.reader]
    if sync.rows > sync.limit:
        witnesses.append(Witness((sync.end,), "over_limit", sync.rows, sync.limit))
    if seqs:
        witnesses += _skipped(sync, min(seqs), _passed(sync, rows), rows, log)
    return witnesses


def _gap(sync: Read, before: int, rows: list[Delivered], log: Log) -> list[Witness]:
    """The messages between the cursor and the first message, or all that the cursor passed if there is none."""
    seqs = _seqs(rows)
    witnesses = _skipped(sync, before, seqs[0] - 1 if seqs else _passed(sync, rows), rows, log)
    witnesses = [Witness(w.events, w.kind, w.a, _passed(sync, rows)) for w in witnesses]
    if not sync.is_moving and (sync.after or 0) > before:
        witnesses.append(Witness((sync.end,), "cursor_moved", sync.after or 0, before))
    return witnesses


def _skipped(sync: Read, above: int, upto: int, rows: list[Delivered], log: Log) -> list[Witness]:
    received = {row.seq for row in rows}
    first, last = (bisect_right(log, (seq, "\U0010ffff")) for seq in (above, upto))
    return [
        Witness((sync.end,), "skipped", seq, upto)
        for seq, sender in log[first:last]
        if seq not in received and (sync.with_own or sender != sync.reader)
    ]


def _otherwise(facts: Facts, answers: dict[int, list[Delivered]]) -> list[Witness]:
    stored = {(row.lane, row.seq, row.id, row.sender) for row in facts.stored}
    return [
        Witness((sync.end,), "delivered_otherwise", row.seq or 0)
        for sync in facts.reads
        for row in answers[sync.end]
        if row.id is not None and (sync.lane, row.seq, row.id, row.sender) not in stored
    ]


def _beyond(facts: Facts, dump_at: int) -> list[Witness]:
    """A cursor stands on a message of its log, or before the first."""
    newest: dict[str, int] = defaultdict(int)
    of_all: list[Stored | Appended] = [*facts.stored, *facts.appended]
    for fact in of_all:
        newest[fact.lane] = max(fact.seq or 0, newest[fact.lane])
    stands = [(read.lane, read.end, read.after or 0) for read in facts.reads]
    stands += [(jump.lane, jump.end, jump.seq or 0) for jump in facts.jumps]
    return [
        Witness((end,), "cursor_beyond", cursor, newest[lane])
        for lane, end, cursor in stands
        if end < dump_at and cursor > newest[lane]
    ]


def _stale(facts: Facts, answers: dict[int, list[Delivered]]) -> list[Witness]:
    """A sync with room left, or that says it is all, without a message of another, acknowledged before it began."""
    acknowledged: dict[str, list[tuple[int, int, str]]] = defaultdict(list)  # lane → (end, seq, sender)
    for sent in facts.appended:
        if sent.outcome == "ok" and sent.seq is not None:
            acknowledged[sent.lane].append((sent.end, sent.seq, sent.sender or ""))
    newest = {lane: _newest(sorted(ends)) for lane, ends in acknowledged.items()}
    witnesses = []
    for sync in facts.reads:
        if not (sync.is_all or (sync.rows < sync.limit and sync.is_moving)) or sync.lane not in newest:
            continue
        ends, tops = newest[sync.lane]
        known = bisect_right(ends, sync.begin)
        seq = next((seq for seq, sender in tops[known] if sync.with_own or sender != sync.reader), 0)
        if seq > max(sync.after or 0, *_seqs(answers[sync.end]), 0):
            witnesses.append(Witness((sync.end,), "stale", seq))
    return witnesses


def _newest(acknowledged: list[tuple[int, int, str]]) -> tuple[list[int], list[Log]]:
    """Ends, and for each count of them the newest message and the newest of another sender."""
    tops: list[Log] = [[]]
    for _, seq, sender in acknowledged:
        best: dict[str, int] = {}
        for number, by in [*tops[-1], (seq, sender)]:
            best[by] = max(number, best.get(by, 0))
        tops.append(sorted(((number, by) for by, number in best.items()), reverse=True)[:2])
    return [end for end, _, _ in acknowledged], tops
