"""claim_exclusive: an agent's delivery of a message is in one pair of hands at a time, and done once.

A claim is held against the claims of the same delivery that had returned before it began. It is rightful if the
other's visibility time-out was over, or if a completion may have come in between; never after a completion that was
answered `done`. Two claims that overlap in time are tried in both orders. A claim by anybody but the addressee is
wrong whatever happened.
"""

from __future__ import annotations

from collections import defaultdict

from busproof.checks.comms_facts import Claim, CommsFacts, Completion
from busproof.checks.verdict import Verdict, Witness, judged


def check(facts: CommsFacts) -> Verdict:
    """O(n log n): a delivery's claims in the order of their events; there are few of each."""
    claims: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    completions: dict[tuple[str, str], list[Completion]] = defaultdict(list)
    for claim in facts.claims:
        claims[claim.message, claim.agent].append(claim)
    for completion in facts.completions:
        completions[completion.message, completion.agent].append(completion)
    witnesses = _stolen(facts)
    for key, of_one in claims.items():
        if len(of_one) > 1 or key in completions:
            is_counted = key[0] not in facts.redriven
            witnesses += _delivery(of_one, completions.get(key, []), is_counted)
    return judged("claim_exclusive", witnesses, len(facts.claims), facts.unknown_because)


def _stolen(facts: CommsFacts) -> list[Witness]:
    addressed = {send.id: send for send in facts.sends if send.id is not None and send.to_agent is not None}
    return [
        Witness((claim.end,), "claimed_by_another")
        for claim in facts.claims
        if claim.message in addressed and addressed[claim.message].to_agent != claim.agent
    ]


def _delivery(claims: list[Claim], completions: list[Completion], is_counted: bool) -> list[Witness]:
    found = []
    claims = sorted(claims, key=lambda claim: claim.begin)
    for place, later in enumerate(claims):
        for earlier in claims[:place]:
            if not _may_precede(earlier, later, completions) and (
                earlier.end < later.begin or not _may_precede(later, earlier, completions)
            ):
                found.append(Witness((earlier.end, later.end), "claimed_twice"))
            elif is_counted and earlier.end < later.begin and _has_fallen(earlier, later):
                found.append(
                    Witness((earlier.end, later.end), "count_not_rising", earlier.count or 0, later.count or 0)
                )
        found += [
            Witness((done.end, later.end), "claimed_after_done")
            for done in completions
            if done.status == "done" and done.end < later.begin
        ]
    return found


def _has_fallen(earlier: Claim, later: Claim) -> bool:
    return None not in (earlier.count, later.count) and (later.count or 0) <= (earlier.count or 0)


def _may_precede(one: Claim, other: Claim, completions: list[Completion]) -> bool:
    """Can `one` have been over when `other` was granted?"""
    if one.until_ms is None or one.until_ms <= other.at_ms:
        return True
    return any(c.end > one.begin and c.begin < other.end for c in completions)
