"""A sixth system is added without an edit of the kit: its own files, and its registration, are enough."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BUS = f"exec:{shlex.quote(sys.executable)} {shlex.quote(str(HERE / 'toy' / 'bus.py'))}"
LATE = f"{BUS} late"


def busproof(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """`busproof`, with the toy registered."""
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    command = [sys.executable, "-m", "toy.run", *argv]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def rows(done: subprocess.CompletedProcess[str], *outcomes: str) -> list[str]:
    """Rows of these outcomes, as the terminal tells them."""
    either = "|".join(outcomes)
    return sorted(set(re.findall(rf"(?:{either})\s+(toy\.log\.\d\d)", done.stdout)))


def test_the_doctor_and_the_lists_know_it(tmp_path: Path) -> None:
    """By its contract alone."""
    assert "toy bus" not in busproof(tmp_path, "list", "toy").stderr
    assert busproof(tmp_path, "list", "toy").stdout.count("toy.log.") == 4
    assert '"note"' in busproof(tmp_path, "schema", "toy").stdout
    done = busproof(tmp_path, "doctor", "--bus", BUS)
    assert done.returncode == 0, done.stdout
    assert "every declared method answers in its shape" in done.stdout


@pytest.mark.parametrize(("bus", "exit_code"), [(BUS, 0), (LATE, 1)])
def test_check_judges_it(tmp_path: Path, bus: str, exit_code: int) -> None:
    """A scenario and a history check, in processes of their own."""
    done = busproof(tmp_path, "check", "toy", "--bus", bus, "--mixed-with", "none", "-j", "2", "--out", "out")
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert ("toy.log.01" in done.stdout) == (exit_code == 1)


@pytest.mark.parametrize(("bus", "exit_code"), [(BUS, 0), (LATE, 1)])
def test_chaos_and_audit_judge_it(tmp_path: Path, bus: str, exit_code: int) -> None:
    """Random kills, every write point, and the history that was recorded."""
    chaos = ["chaos", "toy", "--bus", bus, "--kills", "4", "--points", "--seed", "1", "--out", "out"]
    done = busproof(tmp_path, *chaos)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert rows(done, "pass" if exit_code == 0 else "fail") == ["toy.log.03", "toy.log.04"]
    audited = busproof(tmp_path, "audit", "out/history.jsonl", "--engine", "python")
    assert audited.returncode == exit_code, audited.stdout + audited.stderr


def test_nothing_of_the_kit_knows_it() -> None:
    """Its name stands in its own files and in this one."""
    root = HERE.parents[1]
    packages = ("conformance/busproof", "chaos/buschaos", "spark_checks/busspark", "reference/refbus")
    sources = [path for package in packages for path in (root / package).rglob("*.py")]
    assert sources
    assert [path for path in sources if re.search(r"\btoy\b", path.read_text(encoding="utf-8"))] == []
    lines = [line for path in (HERE / "toy").glob("*.py") for line in path.read_text().splitlines() if line.strip()]
    assert len(lines) <= 240


def test_a_real_system_edits_twelve_files_at_most() -> None:
    """The page names them, and they are there."""
    root = HERE.parents[1]
    page = (root / "docs" / "adding-a-system.md").read_text(encoding="utf-8")
    edited = re.findall(r"(?m)^\| `([^`]+)` \|", page)
    assert 0 < len(edited) <= 12
    assert [path for path in edited if not (root / path).is_file()] == []
