"""order: each message has one seq, each seq one message, and seq follows real time; in a dense lane it has no gaps.

A batch is appended in the order in which it is given.

A message may be tried several times. It was appended after its first try began and before its first acknowledgement
came, so those are its two ends. If the append of seq 7 returned before that of seq 5 began, then 5 was given after 7:
in seq order, the latest beginning so far must never lie behind a return. A running maximum finds this in one pass over
the sorted messages of a lane; no search is needed, because the bus tells the seq. For a message that nobody
acknowledged, the final state tells the seq: it must not stand below any that had returned before its first try began.
Nobody knows when it was appended itself, so it can be blamed, and blames none.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from busproof.oracle.checks.calls import NEVER
from busproof.oracle.checks.facts import Appended, Facts
from busproof.oracle.checks.verdict import Verdict, Witness, judged

Message = tuple[str, str]  # lane, and the message's name


def check(facts: Facts) -> Verdict:
    """O(n log n): sorts."""
    acknowledged = _acknowledged(facts)
    witnesses = _doubled(acknowledged) + _reversed(facts, acknowledged) + _turned(facts, acknowledged)
    return judged("order", witnesses, len(acknowledged), facts.known.unknown_because)


def check_dense(facts: Facts) -> Verdict:
    """The same, and the final state of each lane has every seq from 1."""
    witnesses = check(facts).witnesses
    if facts.dump_at is not None:
        witnesses = witnesses + _gaps(facts, facts.dump_at)
    unknown = facts.known.unknown_because or facts.known.no_dump
    return judged("order", witnesses, len(_acknowledged(facts)), unknown)


def _acknowledged(facts: Facts) -> list[Appended]:
    return [a for a in facts.appended if a.outcome == "ok" and a.message is not None and a.seq is not None]


def _doubled(acknowledged: list[Appended]) -> list[Witness]:
    first: dict[tuple[str, str, int], int] = {}  # lane, message, seq → the first event that acknowledged it
    for sent in acknowledged:
        key = (sent.lane, sent.message or "", sent.seq or 0)
        first[key] = min(sent.end, first.get(key, sent.end))
    by_seq: dict[tuple[str, int], list[int]] = defaultdict(list)
    by_message: dict[Message, list[tuple[int, int]]] = defaultdict(list)
    for (lane, message, seq), end in first.items():
        by_seq[lane, seq].append(end)
        by_message[lane, message].append((end, seq))
    wrong = [Witness((min(ends), max(ends)), "seq_doubled", seq) for (_, seq), ends in by_seq.items() if len(ends) > 1]
    for moves in by_message.values():
        if len(moves) > 1:
            (begun, was), (ended, now) = min(moves), max(moves)
            wrong.append(Witness((begun, ended), "id_moved", was, now))
    return wrong


def _reversed(facts: Facts, acknowledged: list[Appended]) -> list[Witness]:
    begins: dict[Message, int] = {}
    for sent in facts.appended:
        if sent.outcome != "fail" and sent.message is not None:
            begins[sent.lane, sent.message] = min(sent.begin, begins.get((sent.lane, sent.message), sent.begin))
    first: dict[Message, tuple[int, int]] = {}  # first return and its seq
    for sent in acknowledged:
        message = (sent.lane, sent.message or "")
        first[message] = min((sent.end, sent.seq or 0), first.get(message, (sent.end, sent.seq or 0)))
    for message, seq in _standing(facts, begins.keys() - first.keys()).items():
        first[message] = NEVER, seq
    spans = sorted((lane, seq, end, begins[lane, name]) for (lane, name), (end, seq) in first.items())
    witnesses = []
    latest: dict[str, tuple[int, int, int]] = {}  # lane → latest beginning so far, its return, its seq
    for lane, seq, end, begin in spans:
        if lane in latest and latest[lane][0] > end:
            began, returned, smaller = latest[lane]
            shown = began if returned == NEVER else returned
            witnesses.append(Witness((end, shown), "order_reversed", seq, smaller))
        latest[lane] = max(latest.get(lane, (begin, end, seq)), (begin, end, seq))
    return witnesses


def _turned(facts: Facts, acknowledged: list[Appended]) -> list[Witness]:
    """Messages below one that stands before them in their batch. One that was tried before may have an older seq."""
    below = [(sent, sent.below) for sent in acknowledged if sent.below is not None and sent.below > (sent.seq or 0)]
    if not below:
        return []
    tries = Counter((sent.lane, sent.message) for sent in facts.appended if sent.outcome != "fail")
    return [
        Witness((sent.end,), "batch_turned", sent.seq or 0, seq)
        for sent, seq in below
        if tries[sent.lane, sent.message] == 1
    ]


def _standing(facts: Facts, unacknowledged: set[Message]) -> dict[Message, int]:
    """The final seq of each of these; for one that stands twice the larger, which excuses more."""
    seq_of: dict[Message, int] = {}
    for row in facts.stored:
        message = (row.lane, row.message)
        if row.seq is not None and message in unacknowledged:
            seq_of[message] = max(row.seq, seq_of.get(message, row.seq))
    return seq_of


def _gaps(facts: Facts, dump_at: int) -> list[Witness]:
    by_lane: dict[str, list[int]] = defaultdict(list)
    for row in facts.stored:
        if row.seq is not None:
            by_lane[row.lane].append(row.seq)
    witnesses = []
    for seqs in by_lane.values():
        before = 0
        for seq in sorted(seqs):
            if seq != before + 1:
                witnesses.append(Witness((dump_at,), "gap", before, seq))
            before = seq
    return witnesses
