"""The check of leases: buses that keep them are valid in any race; each way to break them is found."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from busproof.oracle.checks import Facts, mail
from busproof.oracle.checks.calls import NEVER
from busproof.oracle.checks.extract.mailbox import CLAIMS
from busproof.oracle.checks.facts import Hold
from busproof.systems import SYSTEMS

LEASE_MS = 1_000
AGENTS = ("ada", "bob", "cy")


def hold(op: str, holder: str, begin: int, at_ms: int, granted: bool | None = True, **more: object) -> Hold:
    """One operation on the one task, begun at an event and at a time of the bus; it ends with the next event."""
    until_ms = at_ms + LEASE_MS if granted and op != "release" else None
    outcome = "info" if granted is None else "ok"
    plain = Hold("", begin, begin + 1, outcome, op, "t", holder, granted, None, until_ms, at_ms, at_ms, False)
    return replace(plain, **more)  # type: ignore[arg-type]


def kinds(*holds: Hold) -> set[str]:
    """The kinds of violation found."""
    return {witness.kind for witness in SYSTEMS["worker"].checks["lease"](Facts(holds=list(holds))).witnesses}


A_CLAIMS = hold("claim", "a", 1, 0)
BROKEN = {
    "granted 1 ms too early": ({"overlap"}, A_CLAIMS, hold("claim", "b", 3, LEASE_MS - 1)),
    "granted too early after a renewal": (
        {"overlap"},
        A_CLAIMS,
        hold("renew", "a", 3, 500),
        hold("claim", "b", 5, LEASE_MS + 499),
    ),
    "granted too early after two at once": (
        {"overlap"},
        hold("claim", "a", 1, 0, end=5),
        hold("renew", "a", 3, 100, end=6),
        hold("claim", "b", 7, LEASE_MS - 1),
    ),
    "granted to who held it before, and renewed it while another was granted it": (
        {"overlap"},
        A_CLAIMS,
        hold("claim", "b", 3, LEASE_MS, end=9),
        hold("renew", "a", 4, LEASE_MS - 1, end=10),
        hold("claim", "a", 11, LEASE_MS + 2),
    ),
    "granted before the end of the one of two at once that came last": (
        {"overlap"},
        hold("claim", "a", 1, 100, end=9),
        hold("claim", "b", 3, 90),
        hold("release", "b", 5, 95),
        hold("claim", "c", 10, LEASE_MS),
    ),
    "both told at once": ({"overlap"}, replace(A_CLAIMS, end=9), hold("claim", "b", 3, 1)),
    "refused 1 ms after its end": (
        {"refused_though_free"},
        A_CLAIMS,
        hold("claim", "b", 3, LEASE_MS + 1, granted=False),
    ),
    "refused after a release": (
        {"refused_though_free"},
        A_CLAIMS,
        hold("release", "a", 3, 1),
        hold("claim", "b", 5, 2, granted=False),
    ),
    "refused though nobody ever held it": ({"refused_though_free"}, hold("claim", "b", 5, 2, granted=False)),
    "refused though only a refused claim came before": (
        {"refused_though_free"},
        hold("claim", "a", 1, 0, granted=False),
        hold("claim", "b", 3, 1, granted=False),
    ),
    "renewed by who never claimed": ({"renewed_not_held", "renewed_after_retake"}, A_CLAIMS, hold("renew", "b", 3, 1)),
    "renewed by who had released": (
        {"renewed_not_held"},
        A_CLAIMS,
        hold("release", "a", 3, 1),
        hold("renew", "a", 5, 2),
    ),
    "released by who never claimed": (
        {"released_not_held", "released_after_retake"},
        A_CLAIMS,
        hold("release", "b", 3, 1),
    ),
    "released twice": ({"released_not_held"}, A_CLAIMS, hold("release", "a", 3, 1), hold("release", "a", 5, 2)),
    "renewed after another was granted it": (
        {"renewed_after_retake"},
        A_CLAIMS,
        hold("claim", "b", 3, LEASE_MS),
        hold("renew", "a", 5, LEASE_MS + 1),
    ),
    "released after another was granted it": (
        {"released_after_retake"},
        A_CLAIMS,
        hold("claim", "b", 3, LEASE_MS),
        hold("release", "a", 5, LEASE_MS + 1),
    ),
    "a token twice": ({"token_not_rising"}, replace(A_CLAIMS, token=4), hold("claim", "b", 3, LEASE_MS, token=4)),
    "a token that falls two grants later": (
        {"token_not_rising"},
        replace(A_CLAIMS, token=4),
        hold("claim", "b", 3, LEASE_MS, token=9),
        hold("claim", "a", 5, 2 * LEASE_MS, token=8),
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_lease_is_found_as_what_it_is(what: str) -> None:
    """And as nothing else."""
    expected, *holds = BROKEN[what]
    assert kinds(*holds) == expected  # type: ignore[arg-type]


def test_a_mailbox_may_answer_its_holders_second_claim_with_the_grant_that_there_is() -> None:
    """Its token is the same then; another agent's is above it, and `worker` promises a new one for each grant."""
    again = hold("claim", "a", 3, 1, token=4, lane=CLAIMS)
    of_another = hold("claim", "b", 5, LEASE_MS + 1, token=4, lane=CLAIMS)
    grants = [replace(A_CLAIMS, token=4, lane=CLAIMS), again]
    assert mail.check_claims(Facts(holds=grants)).verdict == "valid"
    assert {w.kind for w in mail.check_claims(Facts(holds=[*grants, of_another])).witnesses} == {"token_not_rising"}
    assert kinds(*grants) == {"token_not_rising"}


ALLOWED = {
    "granted at the very end": (A_CLAIMS, hold("claim", "b", 3, LEASE_MS)),
    "refused at the very end": (A_CLAIMS, hold("claim", "b", 3, LEASE_MS, granted=False)),
    "refused while it began to be held": (hold("claim", "b", 0, 1, granted=False, end=5), A_CLAIMS),
    "a lost release may have come": (A_CLAIMS, hold("release", "a", 3, 1, None, end=NEVER), hold("claim", "b", 5, 2)),
    "a lost release may not have come": (
        A_CLAIMS,
        hold("release", "a", 3, 1, None, end=NEVER),
        hold("claim", "b", 5, 2, granted=False),
    ),
    "a lost claim may hold it": (
        hold("claim", "a", 1, 0, None, end=NEVER),
        hold("claim", "b", 3, 10**9, granted=False),
    ),
    "a lost claim may be renewed and released": (
        hold("claim", "a", 1, 0, None, end=NEVER),
        hold("renew", "a", 3, 1),
        hold("release", "a", 5, 2),
    ),
    "its own holder is refused": (A_CLAIMS, hold("claim", "a", 3, 1, granted=False)),
    "renewed after its own end": (A_CLAIMS, hold("renew", "a", 3, 2 * LEASE_MS)),
    "renewed while it is claimed again": (
        A_CLAIMS,
        hold("release", "a", 3, 1),
        hold("renew", "a", 5, 2, end=9),
        hold("claim", "a", 6, 2),
    ),
    "a release that overlaps a refusal": (
        A_CLAIMS,
        hold("release", "a", 3, 1, end=6),
        hold("claim", "b", 4, 1, granted=False, end=5),
    ),
    "renewed while another, whose clock is ahead, takes it over and gives it back": (
        A_CLAIMS,
        hold("renew", "a", 3, 500, end=9),
        hold("claim", "b", 4, LEASE_MS + 500),
        hold("release", "b", 6, LEASE_MS + 501),
        hold("claim", "c", 10, 600),
    ),
    "granted again to who may have claimed it after another, by a clock that was ahead, and renewed it": (
        A_CLAIMS,
        hold("release", "a", 3, 1),
        hold("claim", "b", 5, 2, end=12),
        hold("claim", "a", 6, LEASE_MS + 2, None, end=NEVER),
        hold("renew", "a", 7, LEASE_MS + 2, end=14),
        hold("claim", "a", 15, 600),
    ),
    "a time that is not told": (A_CLAIMS, replace(hold("claim", "b", 3, 900, granted=False), at_ms=1_100)),
}


@pytest.mark.parametrize("what", ALLOWED)
def test_what_a_sound_bus_may_do_is_no_violation(what: str) -> None:
    """Any unknown or concurrent operation excuses."""
    assert kinds(*ALLOWED[what]) == set()


@dataclass
class Bus:
    """Leases kept to the letter; an operation takes effect at a moment of its own between its two events, or never."""

    rng: random.Random
    holder: str = ""
    until_ms: int = 0
    token: int = 0
    now_ms: int = 0
    events: int = 0
    done: list[Hold] = field(default_factory=list)

    def run(self, steps: int) -> list[Hold]:
        """Three agents, one call at a time each; those that wait are resumed in any order; some answers are lost."""
        waiting: dict[str, tuple[str, int]] = {}
        for _ in range(steps):
            self.now_ms += self.rng.choice((0, 1, 100, LEASE_MS // 2, LEASE_MS))
            agent = self.rng.choice(AGENTS)
            if agent not in waiting:
                waiting[agent] = (self.rng.choice(("claim", "claim", "renew", "release")), self._event())
                continue
            op, begin = waiting.pop(agent)
            self._end(agent, op, begin)
        return self.done

    def _event(self) -> int:
        self.events += 1
        return self.events

    def _end(self, agent: str, op: str, begin: int) -> None:
        if self.rng.random() < 0.2:  # nobody hears of it
            if self.rng.random() < 0.5:
                self._apply(agent, op)
            self.done.append(hold(op, agent, begin, self.now_ms, None, end=NEVER))
            return
        granted, end = self._apply(agent, op), self._event()
        until_ms = self.until_ms if granted and op != "release" else None
        token = self.token if granted and op == "claim" else None
        self.done.append(hold(op, agent, begin, self.now_ms, granted, end=end, until_ms=until_ms, token=token))

    def _apply(self, agent: str, op: str) -> bool:
        is_free = not self.holder or self.until_ms <= self.now_ms
        if op == "claim":
            if not is_free:
                return False
            self.token += 1
        elif self.holder != agent:
            return False
        self.holder = "" if op == "release" else agent
        self.until_ms = self.now_ms + LEASE_MS
        return True


@given(st.integers(0, 2**32))
def test_a_bus_that_keeps_its_leases_is_never_accused(seed: int) -> None:
    """Interleaved, with lost answers, at every moment of a lease."""
    assert kinds(*Bus(random.Random(seed)).run(120)) == set()


class Endless(Bus):
    """Its leases never run out."""

    def _apply(self, agent: str, op: str) -> bool:
        now_ms, self.now_ms = self.now_ms, 0
        try:
            return super()._apply(agent, op)
        finally:
            self.now_ms = now_ms
            self.until_ms = self.now_ms + LEASE_MS if self.holder == agent else self.until_ms


class Hasty(Bus):
    """Its leases run out after half their time."""

    def _apply(self, agent: str, op: str) -> bool:
        if op == "claim" and self.until_ms - LEASE_MS // 2 <= self.now_ms:
            self.holder = ""
        return super()._apply(agent, op)


@pytest.mark.parametrize(("bus", "kind"), [(Endless, "refused_though_free"), (Hasty, "overlap")])
def test_leases_that_never_run_out_or_run_out_early_are_found(bus: type[Bus], kind: str) -> None:
    """By what both kinds of bus tell their agents; most runs show it, and none shows another fault."""
    kinds_seen = [kinds(*bus(random.Random(seed)).run(60)) for seed in range(40)]
    assert set().union(*kinds_seen) <= {kind, "renewed_after_retake", "released_after_retake"}
    assert sum(kind in kinds_ for kinds_ in kinds_seen) > 10


CUT_SHORT = hold("renew", "a", 5, 100 - LEASE_MS)  # by a clock that was set back: a lease is now + its length


def test_a_renewal_by_a_clock_that_was_set_back_may_end_a_lease_under_a_claim_that_is_under_way() -> None:
    claim = hold("claim", "b", 3, 500)
    assert kinds(A_CLAIMS, CUT_SHORT, replace(claim, end=9)) == set()
    assert kinds(A_CLAIMS, replace(CUT_SHORT, granted=None, until_ms=None, outcome="info", end=NEVER), claim) == {
        "overlap"
    }
    lost = replace(CUT_SHORT, begin=2, granted=None, until_ms=None, outcome="info", end=NEVER)
    assert kinds(A_CLAIMS, lost, claim) == set()


def test_such_a_renewal_excuses_no_claim_that_was_granted_before_it() -> None:
    assert kinds(A_CLAIMS, hold("claim", "b", 3, 500), CUT_SHORT) >= {"overlap"}


def test_a_renewal_that_lengthens_excuses_nothing() -> None:
    renewed = hold("renew", "a", 5, 100)
    assert kinds(A_CLAIMS, renewed, replace(hold("claim", "b", 3, 500), end=9)) >= {"overlap"}
