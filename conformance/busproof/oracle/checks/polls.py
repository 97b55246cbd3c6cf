"""polls: a poll shows the agent's messages in seq order, as they stand in the log, none of another's, none left out.

seq is given in commit order, so a reader that sees seq 9 must see everything of its own below it. The messages that a
poll may leave out lie below the agent's cursor, whose height is bounded by the acks that began before the poll ended.
The messages that it must show were acknowledged to their publisher before it began, unless the limit was met.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

from busproof.oracle.checks import shown
from busproof.oracle.checks.facts import Delivered, Facts, Read
from busproof.oracle.checks.verdict import Verdict, Witness, judged


def check(facts: Facts) -> Verdict:
    """O(n log n): every reader's view is a sorted list, and a poll is a slice of it."""
    unknown = facts.known.unknown_because or shown.unseen(facts)
    facts = shown.as_stored(facts)
    witnesses: list[Witness] = []
    views, answers = _views(facts), facts.answers()
    published = _acknowledged_by_time(facts, views)
    cursors = _Running([(a.begin, a.reader, a.seq) for a in facts.acked if a.outcome != "fail"])
    jumped = {jump.reader for jump in facts.jumps}
    stored = {(row.seq, row.id, row.addressee) for row in facts.stored}
    for poll in facts.reads:
        rows = answers[poll.end]
        seqs = sorted({row.seq or 0 for row in rows})
        witnesses += _in_itself(poll, rows)
        witnesses += [
            Witness((poll.end,), "delivered_otherwise", row.seq or 0)
            for row in rows
            if row.id is not None and (row.seq, row.id, row.addressee) not in stored
        ]
        if poll.reader not in jumped:
            cursor = cursors.before(poll.reader, poll.end)
            witnesses += _left_out(poll, seqs, views.get(poll.reader, []), cursor)
            newest = published.before(poll.reader, poll.begin)
            if poll.rows < poll.limit and newest > max([cursor, *seqs]):
                witnesses.append(Witness((poll.end,), "stale", newest))
    return judged("polls", witnesses, len(facts.reads), unknown)


def _in_itself(poll: Read, rows: list[Delivered]) -> list[Witness]:
    seqs = [row.seq or 0 for row in rows]
    witnesses = [Witness((poll.end,), "unordered", x, y) for x, y in pairwise(seqs) if y <= x]
    witnesses += [
        Witness((poll.end,), "misdelivered", row.seq or 0) for row in rows if row.addressee not in (None, poll.reader)
    ]
    if poll.rows > poll.limit:
        witnesses.append(Witness((poll.end,), "over_limit", poll.rows, poll.limit))
    return witnesses


def _left_out(poll: Read, seqs: list[int], view: list[int], cursor: int) -> list[Witness]:
    if not seqs:
        return []
    start = bisect_right(view, min(cursor, seqs[0] - 1)) if cursor < seqs[0] else bisect_left(view, seqs[0])
    due = view[start : bisect_right(view, seqs[-1])]
    if len(due) <= len(seqs):
        return []
    missing = sorted(set(due) - set(seqs))
    return [Witness((poll.end,), "skipped", missing[0], seqs[-1])] if missing else []


def _views(facts: Facts) -> dict[str, list[int]]:
    readers = {poll.reader for poll in facts.reads}
    views: dict[str, list[int]] = {reader: [] for reader in readers}
    for row in facts.stored:
        for reader in readers if row.addressee is None else readers & {row.addressee}:
            views[reader].append(row.seq or 0)
    for view in views.values():
        view.sort()
    return views


def _acknowledged_by_time(facts: Facts, views: dict[str, list[int]]) -> _Running:
    to = {row.seq: row.addressee for row in facts.stored}
    rows: list[tuple[int, str, int]] = []
    for p in facts.appended:
        if p.outcome == "ok" and p.seq is not None and p.seq in to:
            recipient = to[p.seq]
            rows += [(p.end, reader, p.seq) for reader in (views if recipient is None else views.keys() & {recipient})]
    return _Running(rows)


class _Running:
    """For each reader, the largest value up to a time."""

    def __init__(self, rows: list[tuple[int, str, int]]) -> None:
        self._times: dict[str, list[int]] = {}
        self._most: dict[str, list[int]] = {}
        for at, reader, value in sorted(rows):
            most = self._most.setdefault(reader, [])
            self._times.setdefault(reader, []).append(at)
            most.append(max(value, most[-1]) if most else value)

    def before(self, reader: str, at: int) -> int:
        place = bisect_left(self._times.get(reader, []), at)
        return self._most[reader][place - 1] if place else 0
