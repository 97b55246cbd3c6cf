"""durable: every acknowledged message is in the final state, once, and no message is there that nobody sent.

Without a final state, every acknowledged message was shown to those that it was due to (`shown`), once.

A message whose time may have been over by the end need not be there. A row is known by the name that its sender gave,
else by its id; a row that nothing names may be of an attempt without a name whose answer was lost, one of each.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from busproof.oracle.checks import shown
from busproof.oracle.checks.facts import Appended, Facts, Stored
from busproof.oracle.checks.verdict import Verdict, Witness, judged


def check(facts: Facts) -> Verdict:
    """Sets: the messages acknowledged, refused or asked for, against the final state."""
    witnesses = _given_twice(facts)
    if facts.dump_at is not None:
        witnesses += _lost(facts, facts.dump_at) + _doubled(facts, facts.dump_at) + _uninvited(facts, facts.dump_at)
    else:
        witnesses += shown.lost(facts) + shown.doubled(facts)
    unknown = facts.known.unknown_because or shown.unseen(facts)
    return judged("durable", witnesses, len(facts.appended), unknown)


def _given_twice(facts: Facts) -> list[Witness]:
    """A message without a name is no retry: its id must be nobody else's. One with a name is new once."""
    by_id: dict[tuple[str, str], list[Appended]] = defaultdict(list)
    for sent in facts.appended:
        if sent.outcome == "ok" and sent.id is not None:
            by_id[sent.lane, sent.id].append(sent)
    witnesses = []
    for same in by_id.values():
        first = min(same, key=lambda sent: sent.end)
        again = [a for a in same if a.is_new and a.end != first.end]
        witnesses += [
            Witness((first.end, a.end), "id_given_twice" if a.name is None else "called_new")
            for a in again
            if a.name is None or first.is_new or first.end < a.begin
        ]
    return witnesses


def _lost(facts: Facts, dump_at: int) -> list[Witness]:
    stands: dict[tuple[str, str], int | None] = {}
    for row in facts.stored:
        key = (row.lane, row.id)
        before = stands.get(key)
        stands[key] = row.seq if before is None or row.seq is None else min(row.seq, before)
    witnesses = []
    for sent in facts.appended:
        if sent.outcome != "ok" or sent.id is None or sent.end > dump_at or _is_over(sent, facts):
            continue
        if (sent.lane, sent.id) not in stands:
            witnesses.append(Witness((sent.end,), "lost", sent.seq or 0, of=sent.id))
            continue
        now = stands[sent.lane, sent.id]
        if now is not None and sent.seq is not None and now != sent.seq:
            witnesses.append(Witness((sent.end, dump_at), "seq_changed", sent.seq, now))
    return witnesses


def _is_over(sent: Appended, facts: Facts) -> bool:
    return sent.expires_ms is not None and sent.expires_ms <= (facts.known.newest_ms or 0)


def _doubled(facts: Facts, dump_at: int) -> list[Witness]:
    times = Counter((row.lane, row.message) for row in facts.stored if not row.is_dead)
    return [Witness((dump_at,), "row_doubled", count) for count in times.values() if count > 1]


def _uninvited(facts: Facts, dump_at: int) -> list[Witness]:
    possible, refused = set[tuple[str, str]](), dict[tuple[str, str], int]()
    for sent in facts.appended:
        if sent.message is None:
            continue
        if sent.outcome != "fail":
            possible.add((sent.lane, sent.message))
        else:
            refused[sent.lane, sent.message] = max(sent.end, refused.get((sent.lane, sent.message), sent.end))
    witnesses, phantoms = [], set[tuple[str, str]]()
    excuses = Counter(a.lane for a in facts.appended if a.message is None and a.outcome != "fail")
    for row in sorted(facts.stored, key=place):
        key = (row.lane, row.message)
        if key in possible or row.is_own:
            continue
        if key in refused:
            witnesses.append(Witness((refused[key], dump_at), "refused_but_stored", row.seq or 0, of=row.id))
        elif row.name is None and key not in phantoms and excuses[row.lane] > 0:
            excuses[row.lane] -= 1
            possible.add(key)
        else:
            phantoms.add(key)
            witnesses.append(Witness((dump_at,), "phantom", row.seq or 0, of=row.id))
    return witnesses


def place(row: Stored) -> tuple[str, int, str]:
    """An order of rows that is the same however they come: a send without a name explains the first of them."""
    return row.lane, row.seq or 0, row.id
