"""A fault of the kit is told as one, and never blamed on the bus; two checks never write to one folder."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from busproof.cli import main
from busproof.lock import alone
from busproof.run import pytest_run
from busproof.run.pytest_run import Run


def test_an_item_that_raises_leaves_its_rows_undecided_and_says_whose_fault_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report is neither VALID nor INVALID, and names what was raised, and where."""

    def raises(*_: Any, **__: Any) -> None:
        raise KeyError("batch_unordered")

    monkeypatch.setattr(pytest_run, "run_item", raises)
    run = Run(tmp_path, "worker", "sqlite:", "", ["history"], "", 1, "", nightly=False)
    run.play("bus", "history")
    report = run.finish()
    assert report.footer["exit_code"] == 2
    assert report.rows
    assert all(row["outcome"] == "could-not-run" for row in report.rows)
    assert all("the kit failed: KeyError: 'batch_unordered', at busproof/" in row["why"] for row in report.rows)


def test_a_second_check_of_one_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, at once: the first check's parts and report are not touched."""
    (tmp_path / "report.jsonl").write_text("the first check's")
    with alone(tmp_path, "check"):
        assert main(["check", "worker", "--only", "worker.lease.05", "--out", str(tmp_path), "--quiet"]) == 2
    assert "another run" in capsys.readouterr().err
    assert (tmp_path / "report.jsonl").read_text() == "the first check's"


def test_a_second_run_of_pytest_on_one_folder_is_refused(tmp_path: Path) -> None:
    """The plugin alone, as its users start it."""
    options = ["--busproof-out", str(tmp_path), "--busproof-system", "worker", "--busproof-only", "worker.lease.05"]
    with alone(tmp_path, "pytest"):
        command = [sys.executable, "-m", "pytest", "--pyargs", "busproof.run.pytest_suite", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "another run" in done.stderr
