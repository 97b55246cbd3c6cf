"""dead_letters_exact: the queue holds exactly what failed three times.

A failure is a completion with an error that the bus answered `failed` or `dead`; as many count as there were claims.
What was redriven, and completions without an answer, leave the matter open.
"""

from __future__ import annotations

from collections import Counter

from busproof.checks.comms_facts import CommsFacts
from busproof.checks.verdict import Verdict, Witness, judged

FAILURES_MAX = 3


def check(facts: CommsFacts) -> Verdict:
    """Counts of failures of each delivery, summed over the agents of a message, against the final queue."""
    certain: Counter[tuple[str, str]] = Counter()
    possible: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], int] = {}
    for completion in facts.completions:
        if completion.is_error and completion.status not in ("done",):
            key = completion.message, completion.agent
            possible[key] += 1
            if completion.outcome == "ok" and completion.status is not None:
                certain[key] += 1
            last[key] = max(last.get(key, 0), completion.begin)
    claims = Counter((claim.message, claim.agent) for claim in facts.claims)
    witnesses = []
    if facts.dump_at is not None:
        letters = Counter(facts.letters)
        due, allowed = Counter[str](), Counter[str]()
        latest: dict[str, int] = {}
        for key, count in possible.items():
            message = key[0]
            latest[message] = max(latest.get(message, 0), last[key])
            allowed[message] += count >= FAILURES_MAX
            due[message] += min(certain[key], claims[key]) >= FAILURES_MAX
        for message in sorted({*letters, *due}):
            if message in facts.redriven:
                continue
            if letters[message] > allowed[message]:
                witnesses.append(Witness((facts.dump_at,), "buried_too_early", latest.get(message, 0)))
            elif letters[message] < due[message]:
                witnesses.append(Witness((facts.dump_at,), "not_buried", latest.get(message, 0)))
    counted = sum(completion.is_error for completion in facts.completions)
    return judged("dead_letters_exact", witnesses, counted, facts.unknown_because or facts.no_dump)
