"""The catalogue is complete, and a real run decides each row by the check that it names."""

from collections import Counter

import pytest

from busproof import scenarios
from busproof.catalogue import catalogue
from busproof.checks import CHECKS
from busproof.fleet import REFERENCE, Fleet
from busproof.machines import MACHINES
from busproof.protocol import WORKER_FEATURES
from busproof.suite import SCENARIOS, rows_of, stage

ROWS = catalogue("worker")
CHAOS = {"chaos.kill_points", "chaos.random_kills", "chaos.disk_full"}
assert scenarios.__all__


def test_every_row_has_a_check_or_a_reason() -> None:
    """0 rows without either; the loader refuses both and neither."""
    assert all((row.check is None) != (row.excluded is None) for row in ROWS.values())
    assert len(ROWS) >= 90
    assert all(len(row.excluded) > 20 for row in ROWS.values() if row.excluded)


def test_every_check_that_a_row_names_exists() -> None:
    """A scenario, a history check, a machine, or an act of chaos."""
    known = {*SCENARIOS["worker"], *(f"history.{name}" for name in CHECKS), *MACHINES["worker"], *CHAOS}
    assert {row.check for row in ROWS.values() if row.check} <= known


def test_every_scenario_history_check_and_machine_decides_a_row() -> None:
    """No check runs for nothing."""
    named = Counter(row.check for row in ROWS.values())
    assert [name for name in (*SCENARIOS["worker"], *MACHINES["worker"]) if not named[name]] == []
    assert [name for name in CHECKS if not named[f"history.{name}"]] == []


def test_ids_say_their_noun_and_needs_are_known() -> None:
    """worker.NOUN.NN, and features that the protocol knows."""
    for row in ROWS.values():
        system, noun, number = row.id.split(".")
        assert (system, noun) == ("worker", row.noun)
        assert number.isdigit()
        assert set(row.needs) <= {*WORKER_FEATURES, "clock", "blob"}


@pytest.fixture(scope="module")
def fleet():
    """The reference, warm for all scenarios."""
    fleet = Fleet([REFERENCE])
    yield fleet
    fleet.close()


@pytest.mark.parametrize("name", sorted(SCENARIOS["worker"]))
def test_a_scenario_decides_exactly_the_rows_that_name_it_and_the_reference_passes(
    fleet: Fleet, name: str
) -> None:
    """Both directions of sentence → row → check, by a real run."""
    scenario = SCENARIOS["worker"][name]
    with stage(fleet, run=name, options=scenario.options) as ctx:
        scenario.play(ctx)
        assert {finding.requirement for finding in ctx.findings} == {
            row.id for row in rows_of("worker", name)
        }
        assert [finding.why for finding in ctx.findings if not finding.ok] == []
