"""cursor_monotonic: what is acknowledged stays acknowledged, and only what exists can be."""

from __future__ import annotations

from bisect import bisect_left

from busproof.checks.facts import Facts
from busproof.checks.verdict import Verdict, Witness, judged


def check(facts: Facts) -> Verdict:
    """A running maximum of the acknowledged acks of each agent, by the time of their return."""
    acked = _Acked(facts)
    newest = max([row.seq for row in facts.stored] + [p.seq or 0 for p in facts.publishes], default=0)
    witnesses: list[Witness] = []
    for poll in facts.polls:
        seq, event = acked.before(poll.agent, poll.begin)
        lowest = min((s for s, _ in poll.delivered), default=seq + 1)
        if lowest <= seq and poll.agent not in facts.redriven_agents:
            witnesses.append(Witness((event, poll.end), "redelivered", lowest, seq))
    for ack in facts.acks:
        if ack.outcome != "ok":
            continue
        seq, event = acked.before(ack.agent, ack.begin)
        if ack.answer is not None and ack.answer < seq:
            witnesses.append(Witness((event, ack.end), "ack_went_back", ack.answer, seq))
        if ack.seq > newest and facts.dump_at is not None:
            witnesses.append(Witness((ack.end,), "ack_beyond", ack.seq, newest))
    if facts.dump_at is not None:
        for agent in acked.agents:
            seq, event = acked.before(agent, facts.dump_at)
            if facts.cursors.get(agent, 0) < seq:
                witnesses.append(Witness((event, facts.dump_at), "cursor_lost", facts.cursors.get(agent, 0), seq))
    return judged("cursor_monotonic", witnesses, len(facts.acks), facts.unknown_because or facts.no_dump)


class _Acked:
    """For each agent, the highest acknowledged ack up to a time, and the first event that acknowledged it."""

    def __init__(self, facts: Facts) -> None:
        self._times: dict[str, list[int]] = {}
        self._highest: dict[str, list[tuple[int, int]]] = {}
        for ack in sorted((a for a in facts.acks if a.outcome == "ok"), key=lambda a: a.end):
            highest = self._highest.setdefault(ack.agent, [])
            self._times.setdefault(ack.agent, []).append(ack.end)
            highest.append(highest[-1] if highest and highest[-1][0] >= ack.seq else (ack.seq, ack.end))

    @property
    def agents(self) -> list[str]:
        return list(self._times)

    def before(self, agent: str, at: int) -> tuple[int, int]:
        place = bisect_left(self._times.get(agent, []), at)
        return self._highest[agent][place - 1] if place else (0, 0)
