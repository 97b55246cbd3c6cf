"""dead_letters: the queue holds exactly the messages that failed three times.

A failure is a completion with an error that the bus answered `failed` or `dead`; as many count as there were claims.
Redriven messages, and completions without an answer, leave the matter open. The bus chooses whether a claim that ran
out is a failure as well (C20): it may have counted each claim that nobody completed.
"""

from __future__ import annotations

from collections import Counter

from busproof.contract.comms import FAILURES_MAX
from busproof.oracle.checks.facts import Facts
from busproof.oracle.checks.verdict import Verdict, Witness, judged


def check(facts: Facts) -> Verdict:
    """Counts of failures of each delivery, summed over the agents of a message, against the final queue."""
    certain: Counter[tuple[str, str]] = Counter()
    possible: Counter[tuple[str, str]] = Counter()
    last: dict[str, int] = {}
    for failed in facts.failed:
        possible[failed.key, failed.lane] += 1
        certain[failed.key, failed.lane] += failed.is_counted
        last[failed.key] = max(last.get(failed.key, 0), failed.begin)
    witnesses = []
    if facts.dump_at is not None:
        claims = Counter((hold.key, hold.lane) for hold in facts.holds if hold.op == "claim" and hold.granted)
        completed = Counter((hold.key, hold.lane) for hold in facts.holds if hold.op == "release" and hold.granted)
        letters = Counter(row.id for row in facts.stored if row.is_dead)
        due, allowed = Counter[str](), Counter[str]()
        for key in possible.keys() | claims.keys():
            count = possible[key] + max(0, claims[key] - completed[key])
            allowed[key[0]] += count >= FAILURES_MAX
            due[key[0]] += min(certain[key], claims[key]) >= FAILURES_MAX
        for message in sorted({*letters, *due} - {r.key for r in facts.redriven}):
            if letters[message] > allowed[message]:
                witnesses.append(Witness((facts.dump_at,), "buried_too_early", last.get(message, 0)))
            elif letters[message] < due[message]:
                witnesses.append(Witness((facts.dump_at,), "not_buried", last.get(message, 0)))
    return judged("dead_letters", witnesses, len(facts.failed), facts.known.unknown_because or facts.known.no_dump)
