"""A fault of the kit is told as one, and never blamed on the bus; two runs never write to one folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from buschaos import cli, judge, points
from buschaos.acts import acts_of
from buschaos.acts.kill_points import KillPoints
from buschaos.acts.power_loss import PowerCuts
from buschaos.bus import RunFailed
from buschaos.inspector import Inspector
from buschaos.subjects import SUBJECTS
from busproof.bus.fleet import reference
from busproof.contract import HelloReply
from busproof.lock import alone
from busproof.oracle.checks import Verdict
from busproof.pages.report import lines


def _raises(*_: Any) -> None:
    raise KeyError("batch_unordered")


def test_an_act_that_raises_is_the_kits_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, what was raised, and where."""
    monkeypatch.setattr(KillPoints, "play", _raises)
    assert cli.main(["worker", "--points", "--out", str(tmp_path)]) == 2
    errors = capsys.readouterr().err
    assert "the kit failed: KeyError: 'batch_unordered', at " in errors
    assert "buschaos/run.py:" in errors  # the last of our lines; this test's are nobody's


def test_the_other_acts_are_judged_nevertheless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of the act that raised could not run."""
    monkeypatch.setattr(KillPoints, "play", _raises)
    monkeypatch.setattr(PowerCuts, "play", lambda _, scene, __: scene.findings.counts.update({"distinct images": 1}))
    argv = ["worker", "--points", "--power", "1", "-j", "1", "--out", str(tmp_path)]
    assert cli.main(argv) == 2
    rows = lines.load(tmp_path / "report.jsonl").rows
    outcomes = {(row["check"], row["outcome"]) for row in rows}
    assert ("chaos.kill_points", "could-not-run") in outcomes
    assert ("chaos.power_loss", "pass") in outcomes
    assert all("the kit failed" in row["why"] for row in rows if row["check"] == "chaos.kill_points")


def test_a_report_that_raises_is_the_kits_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1 would blame the bus."""
    monkeypatch.setattr(cli, "_tell", _raises)
    assert cli.main(["worker", "--kills", "2", "--out", str(tmp_path)]) == 2
    assert "the kit failed: KeyError" in capsys.readouterr().err


def test_a_looker_that_raises_has_found_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one that is killed by what it reads has: the path of no folder is no fault of a bus."""
    subject = SUBJECTS["worker"]
    monkeypatch.setitem(SUBJECTS, "worker", replace(subject, truth=replace(subject.truth, inspect=points.parse)))
    with Inspector("worker") as looker, pytest.raises(RunFailed, match=r"the kit failed: \w+: .*, at buschaos/"):
        looker.look(tmp_path)


def test_a_second_run_in_a_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, with the way out; nothing of the first run is touched."""
    (tmp_path / "points").mkdir()
    with alone(tmp_path, "chaos"):
        assert cli.main(["worker", "--points", "--out", str(tmp_path)]) == 2
    assert "give this run another --out" in capsys.readouterr().err
    assert (tmp_path / "points").exists()


def test_a_check_is_asked_for_by_what_the_bus_declares() -> None:
    """With a row of its noun it must have something to judge."""
    hello = {"protocol": "1", "name": "x", "version": "1", "language": "y", "systems": ["worker"], "clock": "manual"}
    leases = HelloReply.model_validate({**hello, "nouns": ["log", "lease"], "features": []})
    assert judge.is_asked("history.lease", leases, "worker")
    assert not judge.is_asked("history.lease", leases.model_copy(update={"nouns": ["log"]}), "worker")


def test_a_bus_that_does_not_outlive_its_processes_is_asked_nothing_of_deaths() -> None:
    """Its full disks and its calls that stand still are judged all the same."""
    hello = {"protocol": "1", "name": "x", "version": "1", "language": "y", "systems": ["mailbox"], "clock": "wall"}
    outlives = HelloReply.model_validate({**hello, "nouns": ["log", "cursor"], "features": ["restarts"]})
    in_memory = outlives.model_copy(update={"features": []})
    acts = [act.name for act in acts_of("mailbox") if act.name != "chaos.waits"]
    assert [name for name in acts if not judge.is_asked(name, outlives, "mailbox")] == []
    assert [name for name in acts if not judge.is_asked(name, in_memory, "mailbox")] == [
        "chaos.random_kills",
        "chaos.kill_points",
        "chaos.power_loss",
    ]


def test_a_history_without_what_a_check_judges_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row is inconclusive, and says which check saw nothing."""
    whole = judge.run_checks
    monkeypatch.setattr(judge, "run_checks", lambda events: [_blind(verdict) for verdict in whole(events)])
    assert cli.main(["worker", "--kills", "2", "--bus", reference("worker"), "--out", str(tmp_path)]) == 2
    (row,) = lines.load(tmp_path / "report.jsonl").rows
    assert row["outcome"] == "inconclusive"
    assert "the check lease had nothing to judge" in row["why"]


def _blind(verdict: Verdict) -> Verdict:
    return Verdict("lease", "unknown") if verdict.check == "lease" else verdict
