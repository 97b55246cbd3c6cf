"""The pytest plugin changes nothing unless it is asked."""

import subprocess
import sys
from pathlib import Path

import pytest


def run(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """pytest in a folder of its own."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        "--rootdir",
        str(folder),
    ]
    return subprocess.run([*command, *argv], capture_output=True, text=True, cwd=folder, check=False)


def test_an_ordinary_test_run_loads_nothing_heavy(tmp_path: Path) -> None:
    """Neither pydantic nor the runner is imported, and no test is added."""
    (tmp_path / "test_mine.py").write_text(
        "import sys\ndef test_mine():\n"
        "    assert 'busproof.run.plugin' in sys.modules\n"
        "    assert not {'busproof.run.runner', 'busproof.bus.fleet', 'pydantic'} & set(sys.modules)\n"
    )
    done = run(tmp_path, "test_mine.py")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_suite_runs_under_pytest_itself(tmp_path: Path) -> None:
    """For authors who live in pytest: the same items, the verdict in its summary, the report in the folder."""
    asked = ("--pyargs", "busproof.run.pytest_suite", "--busproof-out", "out", "--busproof-only", "route")
    assert run(tmp_path, *asked).returncode == pytest.ExitCode.USAGE_ERROR  # which system?
    done = run(tmp_path, *asked, "--busproof-system", "worker")
    assert done.returncode == 0, done.stdout
    assert "busproof: valid" in done.stdout
    assert (tmp_path / "out" / "report.jsonl").exists()
