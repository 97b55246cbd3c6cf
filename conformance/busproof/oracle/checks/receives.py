"""receives: an answer is in order, within its limit, and holds only messages that the agent asked for and may see.

Order is falling priority, then rising time. Each message is in it once, and somebody sent it: an attempt without a
name whose answer was lost sent one message at most, which may be of the final state or of an answer.
"""

from __future__ import annotations

from itertools import pairwise

from busproof.oracle.checks.durable import place
from busproof.oracle.checks.facts import Facts
from busproof.oracle.checks.verdict import Verdict, Witness, judged


def check(facts: Facts) -> Verdict:
    """Neighbours: priority falls, or it stays and the time does not fall."""
    nobodys = _sent_by_nobody(facts)
    answers = facts.answers()
    witnesses = []
    for read in facts.reads:
        rows = answers[read.end]
        if read.rows > read.limit:
            witnesses.append(Witness((read.end,), "over_limit", read.rows, read.limit))
        for row in rows:
            if row.addressee not in (None, read.reader):
                witnesses.append(Witness((read.end,), "misreceived", row.place))
            if not row.is_asked:
                witnesses.append(Witness((read.end,), "channel_not_asked", row.place))
            if row.id in nobodys:
                witnesses.append(Witness((read.end,), "received_from_nobody", row.place))
        if len({row.id for row in rows}) < len(rows):
            witnesses.append(Witness((read.end,), "received_twice", len(rows), len({row.id for row in rows})))
        witnesses += [
            Witness((read.end,), "out_of_order", before.place, other.place)
            for before, other in pairwise(rows)
            if (-(before.priority or 0), before.sent_at or "") > (-(other.priority or 0), other.sent_at or "")
        ]
    return judged("receives", witnesses, len(facts.reads), facts.known.unknown_because)


def _sent_by_nobody(facts: Facts) -> set[str | None]:
    """The messages that no attempt explains."""
    sent = {a.message for a in facts.appended if a.outcome != "fail"}
    refused = {a.message for a in facts.appended if a.outcome == "fail"} - sent - {None}
    excuses = sum(a.message is None and a.outcome != "fail" for a in facts.appended)
    stored = [row.message for row in sorted(facts.stored, key=place) if not row.is_own]
    shown = [row.id for row in sorted(facts.delivered, key=lambda row: (row.end, row.place)) if row.id is not None]
    unsent = [name for name in dict.fromkeys([*stored, *shown]) if name not in sent]
    return {*[name for name in unsent if name not in refused][excuses:], *refused}
