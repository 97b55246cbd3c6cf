"""Buses that this project did not write, and naive ones: the check finds the expected faults, no more, no less."""

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conformance.tests.program import busproof

from busproof.pages.report import lines

EXAMPLES = Path(__file__).parents[1] / "examples"
SYSTEMS = {"naive_worker": "worker", "naive_comms": "comms", "litequeue": "worker", "simplebroker": "worker"}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_verdict_and_the_broken_rows_are_those_that_the_example_tells(name: str, tmp_path: Path) -> None:
    """expected.toml against a real run."""
    expected = tomllib.loads((EXAMPLES / name / "expected.toml").read_text())
    bus = f"exec:{sys.executable} {EXAMPLES / name / 'adapter.py'}"
    options = ["--bus", bus, "--out", str(tmp_path), "-j", "1", "--seed", "1"]
    done = busproof("check", SYSTEMS[name], *options)
    report = lines.load(tmp_path / "report.jsonl")
    warned = {row["requirement"] for row in report.rows if row["outcome"] == "warn"}
    assert broken(report, expected) == expected["failed"].keys(), done.stdout
    assert sorted(warned) == expected["dialects"]
    assert report.verdict == expected["verdict"]
    assert done.returncode == report.footer["exit_code"]


# Judged by test_example_deployed.py, for it must be installed apart.
@pytest.mark.parametrize("name", [*SYSTEMS, "agent_bus_mcp"])
def test_the_committed_report_is_whole_and_says_the_same(name: str) -> None:
    """A report that was edited, or that is older than expected.toml, fails."""
    report = lines.kept(name)
    expected = tomllib.loads((EXAMPLES / name / "expected.toml").read_text())
    assert broken(report, expected) == expected["failed"].keys()


def broken(report: lines.Report, expected: dict[str, Any]) -> set[str]:
    """The rows that failed, less those of a race, which schedules decide."""
    return set(report.footer["failed"]) - expected.get("raced", {}).keys()


@pytest.mark.parametrize(
    ("name", "faults"),
    [("naive_worker", {"W1", "W2", "W5", "W6", "W7", "W8"}), ("naive_comms", {"C1", "C2", "C3", "C4", "C5", "C9"})],
)
def test_the_naive_bus_fails_on_each_fault_that_the_decisions_name(name: str, faults: set[str]) -> None:
    """A reason starts with the decision that tells the fault."""
    expected = tomllib.loads((EXAMPLES / name / "expected.toml").read_text())
    assert faults <= {reason.split(",")[0] for reason in expected["failed"].values()}
