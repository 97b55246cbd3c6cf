"""A machine finds what it is there for, and a bus that rolls dice of its own is judged all the same."""

import itertools
import sys
from pathlib import Path

import pytest
from hypothesis.stateful import rule

from busproof.fleet import Fleet
from busproof.machines import comms
from busproof.machines.common import BusMachine, play
from busproof.models.log import same_json
from busproof.mutant import mutants
from busproof.runner import run_item
from busproof.warm import Warm

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("seed", range(3))
def test_the_machine_of_comms_finds_the_naive_bus_broken(seed: int) -> None:
    """In far fewer programs than it plays, whatever the seed."""
    fleet = Fleet([f"exec:{sys.executable} {ROOT / 'examples/naive_comms/adapter.py'}"], system="comms")
    try:
        (finding,) = comms.run(fleet, with_seed=seed).findings
    finally:
        fleet.close()
    assert not finding.ok


def test_a_violation_that_does_not_come_again_is_still_one() -> None:
    """Hypothesis calls it flaky: the same program, another outcome. It was seen, and its calls are told."""
    throws = itertools.count()

    class Diced(BusMachine):
        """Wrong once."""

        @rule()
        def throw(self) -> None:
            """The fortieth throw."""
            self.call("ada", "get_subscribed_channels")
            self.must("comms.log.70", next(throws) != 40, "a throw of the dice")

    fleet = Fleet(["sqlite:"], system="comms")
    try:
        run = play(Diced, comms.ROWS, fleet, "pr", with_seed=1)
    finally:
        fleet.close()
    (finding,) = run.findings
    assert not finding.ok
    assert finding.why == "a throw of the dice (once; the same program did not always do it)"
    assert run.script and {call["method"] for call in run.script} == {"get_subscribed_channels"}


def test_a_machine_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """On the terminal itself, from time to time."""

    class Looks(BusMachine):
        """Harmless."""

        @rule()
        def look(self) -> None:
            """Change nothing."""
            self.call("ada", "get_subscribed_channels")

    fleet = Fleet(["sqlite:"], system="comms")
    try:
        play(Looks, comms.ROWS, fleet, "pr", with_seed=1)
        assert capfd.readouterr().err == ""
        monkeypatch.setattr("busproof.machines.common.PROGRESS_S", 0.0)
        play(Looks, comms.ROWS, fleet, "pr", with_seed=1)
    finally:
        fleet.close()
    assert "  machine.comms: 7 of 60 examples\n" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("system", "dialect"),
    [("worker", "lease_ends_late"), ("comms", "ties_are_newest_first"), ("comms", "no_retry_delay")],
)
def test_a_dialect_fails_no_row_of_a_machine(warm: Warm, system: str, dialect: str) -> None:
    """Its own row tells of it, as a warning; what is RESOLVED never fails a MUST."""
    fleet = Fleet([mutants(system)[dialect].spec(warm)], system=system)
    try:
        results = run_item(fleet, f"machine.{system}", seed=1)
    finally:
        fleet.close()
    assert {result.outcome for result in results} == {"pass"}, [result.why for result in results]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (4.037514835685975e16, 40375148356859750, True),  # as Node writes it
        (1, 1.0, True),
        (2**53 + 1, 2**53, False),
        (1.5, 10**400, False),
        (True, 1, False),
        ({"a": [1e20]}, {"a": [100000000000000000000]}, True),
        ("1", 1, False),
    ],
)
def test_numbers_are_the_same_however_they_are_written(one: object, other: object, same: bool) -> None:
    """The oracle's comparison of JSON, in both directions."""
    assert same_json(one, other) is same_json(other, one) is same
