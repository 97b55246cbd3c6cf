"""receive_order: an answer is in order, within its limit, and holds only what the agent asked for and may see."""

from __future__ import annotations

from itertools import pairwise

from busproof.checks.comms_facts import CommsFacts
from busproof.checks.verdict import Verdict, Witness, judged


def check(facts: CommsFacts) -> Verdict:
    """Neighbours: priority falls, or it stays and the timestamp does not fall."""
    witnesses = [Witness((a.end,), "over_limit", a.rows, a.limit) for a in facts.answers if a.rows > a.limit]
    for row in facts.received:
        if row.to_agent not in (None, row.agent):
            witnesses.append(Witness((row.end,), "misreceived", row.place))
        if not row.channel_asked:
            witnesses.append(Witness((row.end,), "channel_not_asked", row.place))
    in_order = sorted(facts.received, key=lambda row: (row.end, row.place))
    witnesses += [
        Witness((one.end,), "out_of_order", one.place, other.place)
        for one, other in pairwise(in_order)
        if one.end == other.end and (-one.priority, one.timestamp) > (-other.priority, other.timestamp)
    ]
    return judged("receive_order", witnesses, len(facts.answers), facts.unknown_because)
