"""lease_exclusive: no task is granted while another's lease of it lives, tokens rise, and who lost a task stays out.

A grant is held against what had certainly come before it: a grant or renewal that had returned before it began. Two
grants that overlap in time have no such order, so both are tried: A before B is possible only if A's lease was over by
then or a release of A's may have come in between; likewise B before A. If neither is possible, both agents were told
that the task is theirs: the classical look-then-take.

A release ends a lease if it may have happened in between. One without an answer (`info`) may happen at any later
time, so it excuses every later grant: A claims, A's release is lost on the way, B is granted the task: no violation.
Likewise a claim without an answer may be what a later renewal renews.
"""

from __future__ import annotations

from busproof.checks.facts import Facts, Hold
from busproof.checks.verdict import Verdict, Witness, judged


def check(facts: Facts) -> Verdict:
    """O(n log n): each task's operations in the order of their events."""
    tasks: dict[str, list[Hold]] = {}
    for hold in facts.holds:
        tasks.setdefault(hold.task, []).append(hold)
    witnesses = [witness for holds in tasks.values() for witness in _task(holds)]
    return judged("lease_exclusive", witnesses, len(facts.holds), facts.unknown_because)


def _task(holds: list[Hold]) -> list[Witness]:
    held = [h for h in holds if h.outcome == "ok" and h.granted and h.op != "release_claim"]
    grants = [h for h in held if h.op == "try_claim_task"]
    claims = [h for h in holds if h.op == "try_claim_task" and h.outcome != "fail" and h.granted is not False]
    releases = [h for h in holds if h.op == "release_claim" and h.outcome != "fail" and h.granted is not False]
    witnesses = []
    # At its beginning an operation sees what had returned by then: merge both by event, returns first.
    last_held: Hold | None = None
    last_grant: Hold | None = None
    best: Hold | None = None  # the grant with the highest token so far
    for _, is_begin, hold in sorted(_moments(held), key=lambda moment: moment[:2]):
        if not is_begin:
            last_held = hold
            if hold.op == "try_claim_task":
                last_grant = hold
                if hold.token is not None and (best is None or best.token is None or hold.token > best.token):
                    best = hold
        elif hold.op == "try_claim_task":
            witnesses += _overlap(last_held, hold, releases)
            if best is not None and best.token is not None and hold.token is not None and hold.token <= best.token:
                witnesses.append(Witness((best.end, hold.end), "token_not_rising", best.token, hold.token))
        elif last_grant is not None and last_grant.agent != hold.agent:
            own_later = any(c.agent == hold.agent and c.end > last_grant.begin and c.begin < hold.end for c in claims)
            if not own_later:
                witnesses.append(Witness((last_grant.end, hold.end), "renewed_after_retake"))
    return witnesses + _at_once(grants, releases)


def _at_once(grants: list[Hold], releases: list[Hold]) -> list[Witness]:
    """Grants that overlap in time and of which neither can have come first."""
    found: list[Witness] = []
    still_open: list[Hold] = []
    for later in sorted(grants, key=lambda grant: grant.begin):
        still_open = [grant for grant in still_open if grant.end > later.begin]
        for grant in still_open:
            if grant.agent == later.agent or None in (grant.lease_until_ms, later.lease_until_ms):
                continue
            if not _may_precede(grant, later, releases) and not _may_precede(later, grant, releases):
                found.append(Witness((grant.end, later.end), "overlap", grant.lease_until_ms or 0, later.at_ms))
        still_open.append(later)
    return found


def _may_precede(one: Hold, other: Hold, releases: list[Hold]) -> bool:
    return (one.lease_until_ms or 0) <= other.at_ms or _may_be_released(one, other, releases)


def _may_be_released(held: Hold, grant: Hold, releases: list[Hold]) -> bool:
    return any(r.agent == held.agent and r.end > held.begin and r.begin < grant.end for r in releases)


def _moments(held: list[Hold]) -> list[tuple[int, bool, Hold]]:
    return [(h.end, False, h) for h in held] + [(h.begin, True, h) for h in held]


def _overlap(before: Hold | None, grant: Hold, releases: list[Hold]) -> list[Witness]:
    if before is None or before.lease_until_ms is None or before.agent == grant.agent:
        return []
    if before.lease_until_ms <= grant.at_ms:
        return []
    if _may_be_released(before, grant, releases):
        return []
    return [Witness((before.end, grant.end), "overlap", before.lease_until_ms, grant.at_ms)]
