"""`busproof chaos`: exit codes, the text it prints, the files it writes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import busproof.cli
from buschaos import cli
from buschaos.nemeses import disk, syscalls
from busproof.pages.report import lines


def test_a_good_bus_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0, a verdict, the history, the next command, and how to play it again."""
    assert cli.main(["worker", "--kills", "8", "--seed", "5", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr()
    assert "VALID" in output.out
    assert f"Next: busproof audit {tmp_path / 'history.jsonl'}" in output.out
    assert "again: busproof chaos worker --kills 8 --seed 5" in output.out
    assert "round 1 of 3" in output.err
    assert (tmp_path / "plan.json").exists()
    report = lines.load(tmp_path / "report.jsonl")
    assert {row["requirement"] for row in report.rows} == {"worker.log.54"}


def test_a_history_is_as_long_as_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So many calls for each kill, and the printed line asks for them again."""
    assert cli.main(["worker", "--kills", "4", "--calls", "200", "--seed", "5", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "again: busproof chaos worker --kills 4 --calls 200 --seed 5" in output
    planned = json.loads((tmp_path / "plan.json").read_text())
    rounds = [agent["rounds"] for agent in planned["agents"]]
    deaths = [sum(bool(call.get("death")) for calls in agent for call in calls) for agent in rounds]
    lengths = [sum(map(len, agent)) for agent in rounds]
    assert [length for length, died in zip(lengths, deaths, strict=True) if died] == [200] * 4


def test_out_may_be_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default is one: every act then still hands the bus an absolute store."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["worker", "--kills", "2", "--seed", "5", "--out", "here/chaos"]) == 0
    assert (tmp_path / "here" / "chaos" / "history.jsonl").exists()


def test_a_bad_bus_is_invalid(tmp_path: Path, capsys: pytest.CaptureFixture[str], faulty: Callable[[str], str]) -> None:
    """Exit 1, and the report shows the operations."""
    bus = faulty("worker/answers_before_commit")
    assert cli.main(["worker", "--kills", "16", "--seed", "5", "--out", str(tmp_path), "--bus", bus]) == 1
    assert "INVALID" in capsys.readouterr().out
    (row,) = lines.load(tmp_path / "report.jsonl").rows
    assert row["outcome"] == "fail"
    assert row["events"]


def test_what_cannot_run_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2: without seccomp no kill points, without a mount no full disk; never green."""
    monkeypatch.setattr(syscalls, "why_unavailable", lambda: "seccomp is forbidden here")
    monkeypatch.setattr(disk, "why_unavailable", lambda _: "mounting is forbidden here")
    assert cli.main(["worker", "--points", "--disk-full", "-j", "1", "--out", str(tmp_path)]) == 2
    output = capsys.readouterr().out
    assert "seccomp is forbidden here" in output
    assert "mounting is forbidden here" in output
    assert {row["outcome"] for row in lines.load(tmp_path / "report.jsonl").rows} == {"could-not-run"}


@pytest.mark.parametrize("bus", ["py:json:loads", "sqlite:", "exec:", "exec:/nonexistent/bus"])
def test_a_bus_that_cannot_be_killed_or_started_is_unknown(
    tmp_path: Path, bus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, and the reason."""
    assert cli.main(["worker", "--kills", "8", "--out", str(tmp_path), "--bus", bus]) == 2
    assert "could not run" in capsys.readouterr().err


def test_help_is_enough_to_use_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Every option and some examples."""
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    output = capsys.readouterr().out
    for option in ("--bus", "--kills", "--points", "--disk-full", "--disk", "--seed", "--out", "examples:"):
        assert option in output


def test_help_does_without_the_packages_that_a_run_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run without them ends before it has begun, with the way to get them."""
    monkeypatch.setitem(sys.modules, "multiprocess", None)
    with pytest.raises(SystemExit) as ended:
        busproof.cli.main(["chaos", "--help"])
    assert ended.value.code == 0
    assert busproof.cli.main(["chaos", "worker"]) == 2
    assert "pip install '.[chaos]'" in capsys.readouterr().err
