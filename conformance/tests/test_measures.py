"""The kill matrix is of the broken buses that there are; and functions that remember are found."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing
from pathlib import Path

import pytest

from busproof import evidence
from busproof.bus.fleet import Fleet
from busproof.contract.catalogue import catalogue
from busproof.faults.record import faults
from busproof.play.explore import corpus
from busproof.play.explore.search import play
from busproof.play.explore.worker import SPECIFICATION
from busproof.systems import SYSTEMS

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "conformance" / "measure"))

import remember  # noqa: E402


def of(system: str) -> list[evidence.Record]:
    """The kill matrix of a system."""
    return [line for line in evidence.read("kills").values() if line["system"] == system]


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_kill_matrix_knows_every_broken_bus_and_each_died_by_the_rows_it_names(system: str) -> None:
    """Or the matrix is older than the buses. Those that chaos finds are not in it."""
    buses = {name for name, fault in faults(system).items() if fault.found_by == "check"}
    assert {line["mutant"] for line in of(system)} == buses
    survived = [line for line in of(system) if set(line["named"]) - line["killed_by"].keys()]
    assert survived == []


@pytest.mark.parametrize("system", ["relay", "timeline"])
def test_a_bus_that_chose_otherwise_than_the_reference_fails_no_must_where_it_is_told(system: str) -> None:
    """Where the seed is silent its choice is recognised and followed; test_choices plays the rest of `check`."""
    rows = catalogue(system)
    missed = {
        line["mutant"]
        for line in of(system)
        if not any(rows[row].level == "MUST" for row in line["named"]) and "fail" in line["killed_by"].values()
    }
    assert missed == set()


DEAD_LETTERS, PURE = "refbus.worker.retry:Redelivery.dead_letters", "refbus.kernel.rules"
LOOKS = corpus.scripts("worker", only=["each_look_around_each_change"])["each_look_around_each_change"]


def test_functions_that_read_are_made_to_remember_and_no_others() -> None:
    assert DEAD_LETTERS in set(remember.sites("worker"))
    assert not [site for site in remember.sites("kernel") if site.startswith(PURE)]


@pytest.mark.parametrize(
    ("site", "is_found"),
    [
        (DEAD_LETTERS, True),
        ("refbus.worker.presence:Presence.liveness", True),
        ("refbus.worker.export:Export.holds", False),
    ],
)
def test_a_process_that_only_looks_and_remembers_is_found(site: str, is_found: bool) -> None:
    """One that never asks twice is not; and it is the memory that is found: a bus without one passes."""
    argv = [sys.executable, remember.__file__, "--bus", "refbus.driver", site]
    with closing(Fleet([f"exec:{shlex.join(argv)}"], system="worker")) as fleet:
        assert (play(fleet, SPECIFICATION, LOOKS).mismatch is not None) == is_found
