"""lease: a key is in one pair of hands while its lease lives, and free as soon as that is over; tokens rise.

A grant is held against its certain predecessors: a grant or renewal that had returned before it began. Two
grants that overlap in time have no such order, so both are tried: A before B is possible only if A's lease was over by
then or a release of A's may have come in between; likewise B before A. If neither is possible, both agents were told
that the key is theirs: the classical look-then-take.

A refusal is held against everything that may have come before it: somebody must be able to hold the key then. A grant
stops doing so when its lease is over on the bus's own clock, or when a release of its holder that certainly came later
was granted. So a bus whose leases never run out is found by its refusals, one whose leases run out early by its grants.

A call without an answer (`info`) may happen at any later time: a lost release excuses every later grant, a lost claim
every later refusal, and a later renewal or release by the same agent. If the time of the bus is not told, the latest
that it can have been excuses a grant, the earliest a refusal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from busproof.oracle.checks.calls import NEVER
from busproof.oracle.checks.facts import Facts, Hold
from busproof.oracle.checks.verdict import Verdict, Witness, judged

Key = tuple[str, str]  # lane, key


def check(facts: Facts, *, may_keep_token: bool = False) -> Verdict:
    """The holder of a key may claim it again, and every refusal means that somebody holds it. O(n log n).

    `may_keep_token`: to its holder's claim, a bus may answer with the grant that there is.
    """
    witnesses = []
    for holds in _by_key(facts).values():
        grants = _grants(holds, may_repeat=True, may_keep_token=may_keep_token)
        witnesses += grants + _refusals(holds) + _strangers(holds)
    witnesses += _too_short(facts)
    return judged("lease", witnesses, len(facts.holds), facts.known.unknown_because)


def check_deliveries(facts: Facts) -> Verdict:
    """Every claim is a hold of its own, by its addressee; a done delivery is over, and refusals have many reasons."""
    redriven = {r.key for r in facts.redriven}
    witnesses = _stolen(facts) + _too_short(facts) + _shown_after_the_end(facts)
    for (_, key), holds in _by_key(facts).items():
        of_key = _grants(holds, may_repeat=False) + _after_the_end(holds) + _never_claimed(holds)
        witnesses += [w for w in of_key if w.kind != "token_not_rising" or key not in redriven]
    claims = sum(hold.op == "claim" and hold.granted is True for hold in facts.holds)
    return judged("lease", witnesses, claims, facts.known.unknown_because)


def _by_key(facts: Facts) -> dict[Key, list[Hold]]:
    by_key: dict[Key, list[Hold]] = defaultdict(list)
    for hold in facts.holds:
        by_key[hold.lane, hold.key].append(hold)
    return by_key


def _is_granted(hold: Hold) -> bool:
    return hold.outcome == "ok" and hold.granted is True


def _is_possible(hold: Hold) -> bool:
    return hold.outcome != "fail" and hold.granted is not False


# -- grants


def _grants(holds: list[Hold], *, may_repeat: bool, may_keep_token: bool = False) -> list[Witness]:
    """Grants against those that had returned before they began: merges both by event, returns first.

    Any of the grants that overlapped in time may be the last, and one that a grant may follow excuses it. But a renewal
    was earlier than another's claim granted meanwhile if its holder claimed nothing since; and of two claims, the one
    that the other's lease forbids to follow.
    """
    claims = _Latest([hold for hold in holds if hold.op == "claim" and _is_possible(hold)])
    held = [hold for hold in holds if _is_granted(hold) and hold.op != "release"]
    ends = _Ends(holds)

    def came_before(first: Hold, other: Hold) -> bool:
        if first.op == "renew" and other.op == "claim":
            # Only an agent that has claimed the key after the grant can renew it after the grant.
            return first.holder != other.holder and claims.latest(first.holder, first.end) <= other.begin
        return (first.op, other.op) == ("claim", "claim") and _forbids(other, first, ends, may_repeat=may_repeat)

    witnesses = []
    lasts: list[Hold] = []
    best: Hold | None = None  # the grant with the highest token so far
    for _, is_begin, hold in sorted(_moments(held), key=lambda moment: moment[:2]):
        if is_begin and hold.op == "claim":
            if lasts and not (may_repeat and any(last.holder == hold.holder for last in lasts)):
                overlaps = [_overlap(last, hold, ends) for last in lasts]
                witnesses += overlaps[-1] if all(overlaps) else []
            is_kept = may_keep_token and best is not None and (best.holder, best.token) == (hold.holder, hold.token)
            if best is not None and hold.token is not None and hold.token <= (best.token or 0) and not is_kept:
                witnesses.append(Witness((best.end, hold.end), "token_not_rising", best.token or 0, hold.token))
        elif not is_begin:
            lasts = [*(last for last in lasts if last.end > hold.begin), hold]
            if len(lasts) > 1:
                sure = (grant for grant in lasts if not any(came_before(grant, other) for other in lasts))
                lasts = list(sure) or lasts
            if hold.op == "claim" and hold.token is not None and (best is None or hold.token > (best.token or 0)):
                best = hold
    return witnesses + _at_once([hold for hold in held if hold.op == "claim"], ends, may_repeat=may_repeat)


def _too_short(facts: Facts) -> list[Witness]:
    """A grant runs for the time that leases have on this bus, by the clock of its session."""
    return [
        Witness((hold.end,), "lease_too_short", hold.until_ms, hold.due_ms)
        for hold in facts.holds
        if hold.due_ms is not None and hold.until_ms is not None and hold.until_ms < hold.due_ms
    ]


def _moments(held: list[Hold]) -> list[tuple[int, bool, Hold]]:
    return [(hold.end, False, hold) for hold in held] + [(hold.begin, True, hold) for hold in held]


def _overlap(before: Hold, grant: Hold, ends: _Ends) -> list[Witness]:
    if before.until_ms is None or _may_precede(before, grant, ends):
        return []
    return [Witness((before.end, grant.end), "overlap", before.until_ms, grant.at_ms)]


def _at_once(grants: list[Hold], ends: _Ends, *, may_repeat: bool) -> list[Witness]:
    """Grants that overlap in time, and neither of which can have come first."""
    witnesses: list[Witness] = []
    still_open: list[Hold] = []
    for later in sorted(grants, key=lambda grant: grant.begin):
        still_open = [grant for grant in still_open if grant.end > later.begin]
        for grant in still_open:
            both = (grant, later), (later, grant)
            if all(_forbids(first, other, ends, may_repeat=may_repeat) for first, other in both):
                witnesses.append(Witness((grant.end, later.end), "overlap", grant.until_ms or 0, later.at_ms))
        still_open.append(later)
    return witnesses


def _forbids(hold: Hold, other: Hold, ends: _Ends, *, may_repeat: bool) -> bool:
    """Does the lease of one claim forbid another to follow?"""
    is_own = may_repeat and hold.holder == other.holder
    return hold.until_ms is not None and not is_own and not _may_precede(hold, other, ends)


def _may_precede(hold: Hold, other: Hold, ends: _Ends) -> bool:
    """Can `hold` have been over when `other` was granted?"""
    return (hold.until_ms or 0) <= other.at_ms or ends.may_come_between(hold, other)


class _Latest:
    """Claims or releases that may have happened, by holder: the latest end of those that began before a moment."""

    def __init__(self, releases: list[Hold]) -> None:
        self._begins: dict[str, list[int]] = defaultdict(list)
        self._ends: dict[str, list[int]] = defaultdict(list)
        for release in sorted(releases, key=lambda release: release.begin):
            ends = self._ends[release.holder]
            self._begins[release.holder].append(release.begin)
            ends.append(max(release.end, ends[-1]) if ends else release.end)

    def latest(self, holder: str, before: int) -> int:
        """-1 if there was none."""
        place = bisect_left(self._begins.get(holder, []), before)
        return self._ends[holder][place - 1] if place else -1


class _Ends:
    """An early end of a lease: a release, or a renewal by a clock that was set back, which shortens it."""

    def __init__(self, holds: list[Hold]) -> None:
        self._releases = _Latest([hold for hold in holds if hold.op == "release" and _is_possible(hold)])
        self._cuts: dict[str, list[Hold]] = defaultdict(list)
        longest: dict[str, int] = defaultdict(int)
        for hold in sorted(holds, key=lambda hold: hold.begin):
            if hold.op == "renew" and _is_possible(hold) and (hold.until_ms or 0) < longest[hold.holder]:
                self._cuts[hold.holder].append(hold)
            if hold.op != "release" and _is_possible(hold):
                longest[hold.holder] = max(longest[hold.holder], hold.until_ms or 0)

    def may_come_between(self, held: Hold, grant: Hold) -> bool:
        """By its holder."""
        return self._releases.latest(held.holder, grant.end) > held.begin or any(
            cut.begin < grant.end and cut.end > held.begin and (cut.until_ms or 0) <= grant.at_ms
            for cut in self._cuts.get(held.holder, ())
        )


# -- refusals, and agents that hold nothing


def _refusals(holds: list[Hold]) -> list[Witness]:
    """A claim refused though nobody can have held the key."""
    holders = sorted((h for h in holds if h.op != "release" and _is_possible(h)), key=lambda hold: hold.begin)
    begins = [hold.begin for hold in holders]
    released = _Granted(holds)
    witnesses = []
    for refusal in holds:
        if refusal.op == "claim" and refusal.outcome == "ok" and refusal.granted is False:
            earlier = holders[: bisect_left(begins, refusal.end)]
            # Mostly the latest explains it; only if it does not, all are tried.
            if not any(_may_hold(hold, refusal, released) for hold in reversed(earlier)):
                witnesses.append(Witness((refusal.end,), "refused_though_free", refusal.at_ms_min))
    return witnesses


def _may_hold(hold: Hold, refusal: Hold, released: _Granted) -> bool:
    """Can it have been alive at the refusal?"""
    if hold.until_ms is not None and hold.until_ms < refusal.at_ms_min:
        return False
    return released.latest(hold.holder, refusal.begin) <= hold.end


class _Granted:
    """Granted releases, by holder: the latest beginning of those that ended before a moment."""

    def __init__(self, holds: list[Hold]) -> None:
        self._ends: dict[str, list[int]] = defaultdict(list)
        self._begins: dict[str, list[int]] = defaultdict(list)
        releases = [hold for hold in holds if hold.op == "release" and _is_granted(hold)]
        for release in sorted(releases, key=lambda release: release.end):
            begins = self._begins[release.holder]
            self._ends[release.holder].append(release.end)
            begins.append(max(release.begin, begins[-1]) if begins else release.begin)

    def latest(self, holder: str, before: int) -> int:
        """-1 if there was none."""
        place = bisect_left(self._ends.get(holder, []), before)
        return self._begins[holder][place - 1] if place else -1


def _strangers(holds: list[Hold]) -> list[Witness]:
    """Renewals and releases granted to an agent that had given the key back, or lost it to another's grant since."""
    claims = _Latest([hold for hold in holds if hold.op == "claim" and _is_possible(hold)])
    grants = sorted((h for h in holds if h.op == "claim" and _is_granted(h)), key=lambda grant: grant.end)
    ends, released = [grant.end for grant in grants], _Granted(holds)
    witnesses = _never_claimed(holds)
    for hold in holds:
        if hold.op == "claim" or not _is_granted(hold):
            continue
        claimed = claims.latest(hold.holder, hold.end)
        what = "renewed" if hold.op == "renew" else "released"
        if -1 < claimed < released.latest(hold.holder, hold.begin):
            witnesses.append(Witness((hold.end,), f"{what}_not_held"))
        place = bisect_left(ends, hold.begin)
        if place and grants[place - 1].holder != hold.holder and claimed <= grants[place - 1].begin:
            witnesses.append(Witness((grants[place - 1].end, hold.end), f"{what}_after_retake"))
    return witnesses


def _never_claimed(holds: list[Hold]) -> list[Witness]:
    claims = _Latest([hold for hold in holds if hold.op == "claim" and _is_possible(hold)])
    return [
        Witness((hold.end,), "renewed_not_held" if hold.op == "renew" else "released_not_held")
        for hold in holds
        if hold.op != "claim" and _is_granted(hold) and claims.latest(hold.holder, hold.end) < 0
    ]


# -- deliveries


def _stolen(facts: Facts) -> list[Witness]:
    addressees: dict[str, set[str | None]] = defaultdict(set)
    for sent in facts.appended:
        if sent.outcome != "fail" and sent.id is not None:
            addressees[sent.id].add(sent.addressee)
    return [
        Witness((hold.end,), "claimed_by_another")
        for hold in facts.holds
        if hold.op == "claim"
        and _is_granted(hold)
        and hold.key in addressees
        and addressees[hold.key].isdisjoint((None, hold.holder))
    ]


def _shown_after_the_end(facts: Facts) -> list[Witness]:
    done: dict[Key, int] = {}
    for hold in facts.holds:
        if hold.is_final:
            done[hold.lane, hold.key] = min(hold.end, done.get((hold.lane, hold.key), hold.end))
    return [
        Witness((done[row.lane, row.id], row.end), "shown_after_done")
        for row in facts.delivered
        if row.id is not None and row.lane is not None and (row.begin or 0) > done.get((row.lane, row.id), NEVER)
    ]


def _after_the_end(holds: list[Hold]) -> list[Witness]:
    done = [hold for hold in holds if hold.is_final]
    return [
        Witness((over.end, claim.end), "claimed_after_done")
        for claim in holds
        if claim.op == "claim" and _is_granted(claim)
        for over in done
        if over.end < claim.begin
    ]
