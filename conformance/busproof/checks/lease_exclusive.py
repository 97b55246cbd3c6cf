"""lease_exclusive: no task is granted while another's lease of it lives, tokens rise, and who lost a task stays out.

Only what certainly came one after the other is compared: a grant or renewal that had returned before the next grant
began. Why not more: A's grant returns at 5, B's begins at 4 and returns at 9. B's may have been decided before A's,
whose lease then began after B's was released; nothing in the history denies it.

A release ends a lease if it may have happened in between. One without an answer (`info`) may happen at any later
time, so it excuses every later grant: A claims, A's release is lost on the way, B is granted the task: no violation.
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
    releases = [
        h for h in holds if h.op == "release_claim" and h.outcome != "fail" and h.granted is not False
    ]
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
            if (
                best is not None
                and best.token is not None
                and hold.token is not None
                and hold.token <= best.token
            ):
                witnesses.append(Witness((best.end, hold.end), "token_not_rising", best.token, hold.token))
        elif last_grant is not None and last_grant.agent != hold.agent:
            own_later = any(
                g.agent == hold.agent and g.end > last_grant.begin and g.begin < hold.end for g in grants
            )
            if not own_later:
                witnesses.append(Witness((last_grant.end, hold.end), "renewed_after_retake"))
    return witnesses


def _moments(held: list[Hold]) -> list[tuple[int, bool, Hold]]:
    return [(h.end, False, h) for h in held] + [(h.begin, True, h) for h in held]


def _overlap(before: Hold | None, grant: Hold, releases: list[Hold]) -> list[Witness]:
    if before is None or before.lease_until_ms is None or before.agent == grant.agent:
        return []
    if before.lease_until_ms <= grant.at_ms:
        return []
    released = any(r.agent == before.agent and r.end > before.begin and r.begin < grant.end for r in releases)
    if released:
        return []
    return [Witness((before.end, grant.end), "overlap", before.lease_until_ms, grant.at_ms)]
