"""A bus that shares nothing with the reference is judged, as far as it can be looked into."""

from __future__ import annotations

import contextlib
import errno
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from buschaos import diskfull, report, stage
from buschaos.acts.disk_full import ERRORS
from buschaos.crashpoints import in_the_middle
from buschaos.inspector import Inspector
from buschaos.run import Settings, run
from buschaos.stage import Ground, Victims
from buschaos.subjects import SUBJECTS
from buschaos.subjects.worker.shown import shown
from busproof.bus.fleet import Fleet, reference
from busproof.bus.session import Session
from busproof.contract.history import Recorder
from busproof.faults.record import faults

NOT_DECLARED = dict.fromkeys(("worker.blob.16", "worker.export.12"), "not-applicable")


SMALL = Path(__file__).parent / "strangers" / "small_bus.py"
FEW = ("publish", "ack", "try_claim_task", "release_claim")  # nightly all, with every error
FEW_ERRORS = (errno.ENOSPC, errno.EIO)


def outcomes(kind: str, out: Path, *names: str, errors: tuple[int, ...] = FEW_ERRORS) -> dict[str, tuple[str, str]]:
    """Row → outcome and why, of a small run of all three acts, with these operations or all, and these errors."""
    operations = tuple(op for op in SUBJECTS["worker"].repertoire.operations if op.name in names) if names else None
    settings = Settings(
        specs=[f"exec:{shlex.quote(sys.executable)} {shlex.quote(str(SMALL))} {kind}"],
        out=out,
        system="worker",
        seed=1,
        kills=12,
        points=True,
        disk_full=True,
        torn=in_the_middle,
        levels=diskfull.LEVELS_FEW[:4],
        operations=operations,
        errors=errors,
        reads=False,  # it says nothing of disks that cannot be read
    )
    return {row.requirement: (row.outcome, row.why) for row in report.rows(run(settings), "worker")}


def test_a_correct_bus_on_the_seeds_tables_passes_what_it_declares(tmp_path: Path) -> None:
    """A wall clock, no dump: the kit reads the file itself. Rows that are not declared are not applicable."""
    assert {row: outcome for row, (outcome, _) in outcomes("sqlite", tmp_path, *FEW).items()} == {
        "worker.log.03": "pass",
        "worker.log.54": "pass",
        "worker.log.55": "pass",
        **NOT_DECLARED,
    }


def test_a_bus_that_nobody_can_look_into_is_judged_by_what_it_shows(tmp_path: Path) -> None:
    """No dump and no table that the kit knows. After random kills everyone reads to the end, which shows a loss."""
    assert {row: outcome for row, (outcome, _) in outcomes("plain", tmp_path, *FEW).items()} == {
        "worker.log.03": "pass",
        "worker.log.54": "pass",
        "worker.log.55": "pass",
        **NOT_DECLARED,
    }


def test_a_full_disk_decides_nothing_of_a_bus_whose_state_is_not_in_its_folder(tmp_path: Path) -> None:
    """Each level begins with a copy of the store's folder, which is another, empty store of a server."""
    (elsewhere := tmp_path / "elsewhere").mkdir()
    bus = shlex.join([sys.executable, str(SMALL), "elsewhere", str(elsewhere)])
    settings = Settings(
        specs=[f"exec:{bus}"],
        out=tmp_path / "out",
        system="worker",
        disk_full=True,
        levels=(0,),
        errors=(),
        shorts=False,
    )
    outcome_of = {row.requirement: (row.outcome, row.why) for row in report.rows(run(settings), "worker")}
    outcome, why = outcome_of["worker.log.55"]
    assert outcome == "inconclusive", why
    assert "holds nothing of what the bus had stored" in why


@pytest.mark.parametrize(("system", "row"), [("worker", "worker.log.54"), ("comms", "comms.log.72")])
def test_a_bus_that_nobody_can_look_into_and_that_loses_one_message_in_twenty_fails(
    system: str, row: str, tmp_path: Path
) -> None:
    """It declares core nouns and no feature."""
    lossy = faults(system)["loses_one_in_twenty"].spec()
    settings = Settings(specs=[lossy], out=tmp_path, system=system, seed=1, kills=6)
    assert {result.requirement: result.outcome for result in report.rows(run(settings), system)}[row] == "fail"


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["sqlite", "plain"])
def test_so_it_is_under_every_error_of_a_disk(kind: str, tmp_path: Path) -> None:
    """No other row fails."""
    assert {outcome for outcome, _ in outcomes(kind, tmp_path, errors=ERRORS).values()} <= {
        "pass",
        "not-applicable",
        "inconclusive",
    }


def test_what_a_bus_shows_tells_states_apart(tmp_path: Path) -> None:
    """Before and after a message and a claim; to look at a task leaves it free."""
    bus = Path(__file__).parent / "strangers" / "small_bus.py"
    fleet = Fleet([f"exec:{shlex.quote(sys.executable)} {shlex.quote(str(bus))} plain"], system="worker")
    with contextlib.closing(fleet):
        door = fleet.door(0, tmp_path, {})
        with contextlib.closing(Recorder(tmp_path / "h.jsonl", run="r", system="worker")) as recorder:
            session = Session(door, recorder, process=0, agent="alice")
            before = shown(session, fleet.hello)
            session.call("publish", message={"id": "m", "to": "bob", "type": "note"})
            session.call("try_claim_task", task_id="free")
            after = shown(session, fleet.hello)
        fleet.give_back(door, retired=False)
    assert (before["messages"], before["held"]) == ([], [])
    assert [row["agent_id"] for row in after["waiting"]] == ["bob"]
    assert after["held"] == [{"task_id": "free"}]


def test_what_cannot_be_looked_into_is_never_green(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If its answers do not tell states apart: could-not-run, with the reason; what readers are shown tells a loss."""
    monkeypatch.setitem(SUBJECTS, "worker", replace(SUBJECTS["worker"], shown=None))
    rows = outcomes("plain", tmp_path, *FEW)
    assert {row: outcome for row, (outcome, _) in rows.items()} == {
        "worker.log.03": "could-not-run",
        "worker.log.54": "pass",
        "worker.log.55": "could-not-run",
        **NOT_DECLARED,
    }
    assert all("neither `dump` nor `sqlite`" in why for outcome, why in rows.values() if outcome == "could-not-run")


@pytest.mark.parametrize("is_wall", [True, False])
def test_a_store_whose_leases_end_by_themselves_is_prepared_anew(
    is_wall: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a wall clock, when it has stood for some time; a clock that the kit sets stands."""
    spec = f"exec:{shlex.join([sys.executable, str(SMALL), 'sqlite'])}" if is_wall else reference("worker")
    with (
        contextlib.closing(Fleet([spec], system="worker")) as fleet,
        contextlib.closing(Victims(spec, "worker", start_ahead=False)) as victims,
        Inspector("worker") as inspector,
    ):
        ground = Ground.new(SUBJECTS["worker"], fleet, victims, inspector, tmp_path / "first")
        monkeypatch.setattr(stage, "FRESH_S", 3_600.0)
        assert ground.fresh(tmp_path / "second") is ground
        monkeypatch.setattr(stage, "FRESH_S", 0.0)
        again = ground.fresh(tmp_path / "third")
    assert (again is not ground) is is_wall
    assert again.template == tmp_path / ("third" if is_wall else "first")
