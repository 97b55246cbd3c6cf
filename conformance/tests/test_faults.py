"""A check that never failed is not a check: each fault dies by the rows it names, every row kills one.

And each bus is alive: it passes rows that its fault does not touch, and no row fails on it because it broke down.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from busproof import evidence
from busproof.bus.fleet import Fleet
from busproof.bus.warm import Warm
from busproof.contract.catalogue import catalogue
from busproof.faults import command
from busproof.faults.judge import by_check, by_test, not_in_control
from busproof.faults.record import Fault, choices, faults, folder, named
from busproof.systems import SYSTEMS

BUSES = [fault for system in SYSTEMS for fault in faults(system).values() if fault.found_by != "test"]
ALL = [pytest.param(fault, id=fault.id) for fault in BUSES]
PROGRAMS = [fault for system in SYSTEMS for fault in faults(system).values() if fault.found_by == "test"]
# Of an item, roughly, in scenarios.
COSTS = {"corpus": 50, "corpus:volume": 50, "explore": 30, "explore:states": 30, "history": 20}

# Imports the reference, plants every fault in a child of its own, and tells those that raise.
PLANTS_ALL = """
import os, sys, traceback
sys.path.insert(0, sys.argv[1])
import start
for name in sys.argv[2:]:
    start._module(*name.split(".")[:2])
    if (child := os.fork()) == 0:
        try:
            start.planted(name)
        except BaseException:
            print(name, traceback.format_exc(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def cheap_to_dear() -> Iterator[Any]:
    """Every fault, by day with the rows that no cheaper one has killed; nightly all others, and what plays a corpus."""
    for system in SYSTEMS:
        decided: set[str] = set()
        for fault in sorted((each for each in BUSES if each.system == system), key=cost):
            rows = {row for row in fault.rows if catalogue(system)[row].item}
            if rows - decided or not rows:
                marks = [pytest.mark.nightly] if cost(fault) >= COSTS["corpus"] else []
                yield pytest.param(fault, rows - decided, id=fault.id, marks=marks)
            if rows & decided:
                yield pytest.param(fault, rows, id=f"{fault.id}-all", marks=pytest.mark.nightly)
            decided |= rows


def cost(fault: Fault) -> int:
    """The cost of judging it: the sum of its items."""
    rows = catalogue(fault.system)
    items = {fault.item or rows[row].item for row in fault.rows}
    return sum(COSTS.get(item.partition(".")[0], 1) for item in items)


@pytest.mark.parametrize("system", SYSTEMS)
def test_there_are_at_least_forty_faults_each_with_a_sentence(system: str) -> None:
    """The sentence says the fault."""
    assert len(faults(system)) >= 40
    assert all(fault.sentence.endswith(".") for fault in [*faults(system).values(), *choices(system).values()])


def test_each_public_report_is_planted() -> None:
    """As its project had it: as a fault under its name, or as a change of the reference at a commit."""
    authors = {fault.id: fault.author for system in SYSTEMS for fault in faults(system).values()}
    reports = evidence.read("reports")
    planted = {each["fault"]: f"public report, {name}" for name, each in reports.items() if "fault" in each}
    assert planted.items() <= authors.items()
    assert all("fault" in each or (each["commit"] and "+++ b/reference/" in each["diff"]) for each in reports.values())


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_row_that_a_check_decides_kills_a_fault(system: str) -> None:
    """100 % of them, MUST or not; those of chaos are killed in chaos/tests."""
    rows = catalogue(system)
    killing = {row for fault in faults(system).values() for row in fault.rows}
    assert {row.id for row in rows.values() if row.kind != "excluded"} - killing == set()
    assert killing <= set(rows)


@pytest.mark.parametrize(("fault", "asked"), list(cheap_to_dear()))
def test_the_bus_is_alive_and_dies_by_the_rows_it_names(fault: Fault, asked: set[str], warm: Warm) -> None:
    """On a real process: MUST rows fail, RESOLVED rows warn, and others pass, be it in its control alone."""
    if asked:
        assert by_check(fault, warm, asked).wrong == []
    else:
        passes_its_control(fault, warm)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", ALL)
def test_the_bus_passes_its_control(fault: Fault, warm: Warm) -> None:
    """Also where it passes other rows that are decided with those it fails."""
    passes_its_control(fault, warm)


def passes_its_control(fault: Fault, warm: Warm) -> None:
    """An item that its fault does not touch."""
    with closing(Fleet([fault.spec(warm)], system=fault.system)) as fleet:
        assert not_in_control(fault, fleet) == []


def test_every_patch_finds_what_it_replaces() -> None:
    """Or the reference has changed under it, and the bus has no fault, or half of it."""
    ids = [fault.id for system in SYSTEMS for fault in [*faults(system).values(), *choices(system).values()]]
    argv = [sys.executable, "-c", PLANTS_ALL, str(folder()), *ids]
    planted = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert planted.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        "patch(lease, no_such=1)",
        "rewrite(lease.may_take, 'no such text', '')",
        "rewrite(lease.may_take, 'return ', 'return renamed or ')",
    ],
)
def test_a_patch_of_what_is_not_there_fails_at_once(words: str) -> None:
    program = f"from plant import *; from refbus.kernel.rules import lease; {words}"
    argv = [sys.executable, "-c", program]
    ended = subprocess.run(argv, cwd=folder(), capture_output=True, text=True, check=False)
    assert "StaleFaultError" in ended.stderr


@pytest.mark.parametrize("fault", PROGRAMS, ids=lambda fault: fault.id)
def test_a_fault_of_a_program_is_found_by_the_test_it_names(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """No driver reaches the command line and `relay run`."""
    monkeypatch.chdir(Path(__file__).parents[2])
    assert by_test(fault).wrong == []


def test_there_are_faults_of_programs_that_no_driver_reaches() -> None:
    assert {fault.id for fault in PROGRAMS} >= {"relay.cli.sigterm_is_a_failure", "worker.cli.failures_exit_with_0"}


def test_one_fault_is_judged_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["run", "worker.lease.leases_never_expire"]) == 0
    out = capsys.readouterr().out
    assert "worker.lease.05: fail" in out
    assert "  alive: " in out


def test_a_fault_that_lives_is_told_and_its_exit_code_is_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bus without a fault that says it breaks a row."""
    sound = choices("worker")["numbers_have_gaps"]
    rows, control = ("worker.lease.05",), "lease.claim_survives_kill"
    claims = Fault(sound.system, sound.noun, sound.name, "None.", "", rows, control=control)
    monkeypatch.setattr(command, "named", lambda names: [claims])
    assert command.main(["run", claims.id]) == 1
    assert "worker.lease.05: pass" in capsys.readouterr().out


def test_a_name_means_all_faults_it_begins_and_a_wrong_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert {fault.noun for fault in named(["worker.lease"])} == {"lease"}
    assert command.main(["run", "worker.leas"]) == 2
    assert "worker.leas" in capsys.readouterr().err
