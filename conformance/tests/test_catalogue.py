"""The catalogue is complete, and a real run decides each row by the check that it names."""

import inspect
import re
import shlex
import sys
from collections import Counter

import pytest

from busproof.bus.fleet import Fleet, reference
from busproof.contract.catalogue import catalogue
from busproof.oracle.checks.verdict import WHY
from busproof.play.suite import rows_of, stage
from busproof.systems import SYSTEMS

FEWEST_ROWS = {"worker": 90, "comms": 100, "relay": 150, "timeline": 90, "topics": 120}
CHAOS = {
    "chaos.kill_points",
    "chaos.power_loss",
    "chaos.holds",
    "chaos.random_kills",
    "chaos.disk_full",
    "chaos.damage",
    "chaos.gone_callers",
    "chaos.waits",
}
CONSUMES = f"exec:{shlex.quote(sys.executable)} -m refbus.mailbox consumes"


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_row_has_a_check_or_a_reason(system: str) -> None:
    """0 rows without either; the loader refuses both and neither."""
    rows = catalogue(system).values()
    assert all((row.check is None) != (row.excluded is None) for row in rows)
    assert len(rows) >= FEWEST_ROWS.get(system, 1)
    assert all(len(row.excluded) > 20 for row in rows if row.excluded)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_check_that_a_row_names_exists(system: str) -> None:
    """A scenario, a history check, a search, the corpus, or an act of chaos."""
    of = SYSTEMS[system]
    known = {*of.scenarios, *(f"history.{name}" for name in of.checks), *(["explore"] if of.model else []), *CHAOS}
    known |= {"corpus"} if of.model else set()
    assert {row.check for row in catalogue(system).values() if row.check} <= known


def test_a_witness_that_breaks_another_row_is_of_a_known_kind_and_the_row_is_there() -> None:
    """A changed name would leave both rows green."""
    named = [
        (row, kind, other)
        for system in SYSTEMS
        for row in catalogue(system).values()
        for kind, other in row.elsewhere.items()
    ]
    assert named
    for row, kind, other in named:
        assert row.kind == "history" and kind in WHY
        assert other in catalogue(row.id.partition(".")[0]) and other != row.id


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_scenario_and_history_check_decides_a_row(system: str) -> None:
    """No check runs for nothing."""
    of = SYSTEMS[system]
    named = Counter(row.check for row in catalogue(system).values())
    assert [name for name in of.scenarios if not named[name]] == []
    assert [name for name in of.checks if not named[f"history.{name}"]] == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_ids_say_their_noun_and_needs_are_known(system: str) -> None:
    """SYSTEM.NOUN.NN, and features that the protocol knows."""
    for row in catalogue(system).values():
        of, noun, number = row.id.split(".")
        assert (of, noun) == (system, row.noun)
        assert number.isdigit()
        contract = SYSTEMS[system].contract
        assert set(row.needs) <= {*contract.features, *contract.limits, "clock", "blob", "fork", "limit"}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_scenario_that_moves_the_clock_needs_one(system: str) -> None:
    """Or asks whether there is one: else it would blame a bus on the machine's time for refusing to be set."""
    for name, scenario in SYSTEMS[system].scenarios.items():
        source = inspect.getsource(scenario.play)
        if re.search(r"\.advance\(|set_clock\(", source) and 'clock == "manual"' not in source:
            needs = [{*scenario.needs, *row.needs} for row in rows_of(system, name)]
            assert all("clock" in each for each in needs), name


@pytest.fixture(scope="module")
def fleets():
    """The reference, warm for all scenarios of a system; and the mailbox whose reading is the ack."""
    fleets = {system: Fleet([reference(system)], system=system) for system in SYSTEMS}
    fleets[CONSUMES] = Fleet([CONSUMES], system="mailbox")
    yield fleets
    for fleet in fleets.values():
        fleet.close()


@pytest.mark.nightly  # by day `check` plays every scenario on the reference, in test_cli
@pytest.mark.parametrize(("system", "name"), [(s, name) for s in SYSTEMS for name in sorted(SYSTEMS[s].scenarios)])
def test_a_scenario_decides_exactly_the_rows_that_name_it_and_the_reference_passes(
    fleets: dict[str, Fleet], system: str, name: str
) -> None:
    """Both directions of sentence → row → check, by a real run."""
    scenario = SYSTEMS[system].scenarios[name]
    fleet = fleets[CONSUMES if "consumes" in scenario.needs else system]
    with stage(fleet, run=name, options=scenario.options, alone=scenario.alone) as ctx:
        scenario.play(ctx)
        decided = {finding.requirement for finding in ctx.findings}
        assert decided == {row.id for row in rows_of(system, name)}
        assert [finding.why for finding in ctx.findings if not finding.ok] == []
