"""log_delivery: a poll shows the agent's messages in seq order, none of another's, and none left out.

seq is given in commit order, so a reader that sees seq 9 must see everything of its own below it. What a poll may
rightly leave out lies below the agent's cursor; how high that can have been is bounded by the acks that began before
the poll ended. What it must show was acknowledged to its publisher before the poll began, unless the limit was met.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

from busproof.checks.facts import Facts, Poll
from busproof.checks.verdict import Verdict, Witness, judged


def check(facts: Facts) -> Verdict:
    """O(n log n): every agent's view is a sorted list, and a poll is a slice of it."""
    witnesses: list[Witness] = []
    views = _views(facts)
    published = _acknowledged_by_time(facts, views)
    cursors = _Running([(a.begin, a.agent, a.seq) for a in facts.acks if a.outcome != "fail"])
    for poll in facts.polls:
        seqs = [seq for seq, _ in poll.delivered]
        witnesses += [Witness((poll.end,), "unordered", x, y) for x, y in pairwise(seqs) if y <= x]
        witnesses += [
            Witness((poll.end,), "misdelivered", seq) for seq, to in poll.delivered if to not in (None, poll.agent)
        ]
        if facts.dump_at is not None and poll.agent not in facts.redriven_agents:
            cursor = cursors.before(poll.agent, poll.end)
            witnesses += _left_out(poll, sorted(set(seqs)), views.get(poll.agent, []), cursor)
            newest = published.before(poll.agent, poll.begin)
            if len(seqs) < poll.limit and newest > max([cursor, *seqs]):
                witnesses.append(Witness((poll.end,), "stale", newest))
    return judged("log_delivery", witnesses, len(facts.polls), facts.unknown_because or facts.no_dump)


def _left_out(poll: Poll, seqs: list[int], view: list[int], cursor: int) -> list[Witness]:
    if not seqs:
        return []
    start = bisect_right(view, min(cursor, seqs[0] - 1)) if cursor < seqs[0] else bisect_left(view, seqs[0])
    due = view[start : bisect_right(view, seqs[-1])]
    if len(due) <= len(seqs):
        return []
    missing = sorted(set(due) - set(seqs))
    return [Witness((poll.end,), "skipped", missing[0], seqs[-1])] if missing else []


def _views(facts: Facts) -> dict[str, list[int]]:
    agents = {poll.agent for poll in facts.polls}
    views: dict[str, list[int]] = {agent: [] for agent in agents}
    for row in facts.stored:
        for agent in agents if row.to_agent is None else agents & {row.to_agent}:
            views[agent].append(row.seq)
    for view in views.values():
        view.sort()
    return views


def _acknowledged_by_time(facts: Facts, views: dict[str, list[int]]) -> _Running:
    to = {row.seq: row.to_agent for row in facts.stored}
    rows: list[tuple[int, str, int]] = []
    for p in facts.publishes:
        if p.outcome == "ok" and p.seq is not None and p.seq in to:
            recipient = to[p.seq]
            rows += [(p.end, agent, p.seq) for agent in (views if recipient is None else views.keys() & {recipient})]
    return _Running(rows)


class _Running:
    """For each agent, the largest value up to a time."""

    def __init__(self, rows: list[tuple[int, str, int]]) -> None:
        self._times: dict[str, list[int]] = {}
        self._most: dict[str, list[int]] = {}
        for at, agent, value in sorted(rows):
            most = self._most.setdefault(agent, [])
            self._times.setdefault(agent, []).append(at)
            most.append(max(value, most[-1]) if most else value)

    def before(self, agent: str, at: int) -> int:
        place = bisect_left(self._times.get(agent, []), at)
        return self._most[agent][place - 1] if place else 0
