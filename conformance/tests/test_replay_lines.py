"""The line that a report prints to play a failure again does so, as printed: the same row fails."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from busproof import cli
from busproof.bus.fleet import reference
from busproof.faults.record import faults, folder
from busproof.pages.report.terminal import replay_command

# One of each kind: a scenario with options at open, in a mixed fleet as well; the history; the corpus.
FAILURES = [
    ("lease.renew_after_retake", "worker.lease.12", "anyone_releases"),
    ("history", "worker.lease.22", "anyone_releases"),
    ("corpus:06016", "worker.lease.14", "anyone_releases"),
]


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("item", "row_id", "mutant"), FAILURES)
def test_the_printed_line_fails_the_same_row(item: str, row_id: str, mutant: str, times: int, tmp_path: Path) -> None:
    """Seed, mixed fleet and quoting are in it. A folder with a blank in its name is somebody's home."""
    program = tmp_path / "my bus" / "it's.py"
    program.parent.mkdir()
    start = str(folder() / "start.py")
    argv = [start, faults("worker")[mutant].id]
    begins = f"import runpy, sys\nsys.path.insert(0, {str(folder())!r})\nsys.argv = {argv!r}\n"
    program.write_text(f"{begins}runpy.run_path({start!r}, run_name='__main__')\n")
    bus = f"exec:{shlex.join([sys.executable, str(program)])}"
    argv = ["check", "worker", "--bus", bus, "--only", item, "--json", "--out", str(tmp_path / "out")]
    assert cli.main(argv) == 1
    header, *rows, _ = map(json.loads, (tmp_path / "out" / "report.jsonl").read_text().splitlines())
    assert isinstance(header["seed"], int)
    failed = [row for row in rows if row["requirement"] == row_id and row["outcome"] == "fail"]
    assert len({row["fleet"] for row in failed}) == (1 if item.startswith("corpus") else 2)
    row = failed[-1]  # of the mixed fleet, where there is one
    line = replay_command(row, header)
    for number in range(times):
        out = tmp_path / f"again-{number}"
        assert cli.main([*shlex.split(line)[1:], "--json", "--out", str(out)]) == 1
        again = map(json.loads, (out / "report.jsonl").read_text().splitlines())
        assert (row_id, row["fleet"], "fail") in {
            (result.get("requirement"), result.get("fleet"), result.get("outcome")) for result in again
        }


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.nightly)])
def test_the_line_that_explore_prints_shows_the_difference_again(
    times: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The script it wrote, on the same bus, from a folder with a blank in its name."""
    bus = faults("worker")["claims_everything"].spec()
    out = tmp_path / "what i found"
    assert cli.main(["explore", "worker", "--bus", bus, "--calls", "2000", "--out", str(out)]) == 1
    printed = capsys.readouterr().out
    (line,) = [line for line in printed.splitlines() if " --script " in line]
    row_id = next(word for word in printed.split() if word.startswith("worker."))
    for _ in range(times):
        assert cli.main(shlex.split(line)[1:]) == 1
        assert capsys.readouterr().out.startswith(row_id)


def test_a_limit_shows_the_calls_that_were_accepted_and_should_not_have_been(tmp_path: Path) -> None:
    """Not the last ones that were refused; the script to send again holds no others."""
    bus = faults("worker")["anyone_releases"].spec()
    argv = ["check", "worker", "--bus", bus, "--only", "limit.fields", "--mixed-with", "none", "--json"]
    assert cli.main([*argv, "--out", str(tmp_path)]) == 1
    _, *rows, _ = map(json.loads, (tmp_path / "report.jsonl").read_text().splitlines())
    (row,) = [row for row in rows if row["requirement"] == "worker.limit.02"]
    assert [(event["type"], event["op"]) for event in row["events"]] == [
        ("invoke", "release_claim"),
        ("ok", "release_claim"),
    ]
    assert [step["method"] for step in row["script"]] == ["clock.set", "release_claim"]


def test_a_replay_of_a_race_says_that_it_is_none_and_what_forces_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It sends one call after the other: only the check holds the lock while they are sent off."""
    bus = faults("worker")["check_then_act"].spec()
    argv = ["check", "worker", "--bus", bus, "--only", "lease.race", "--mixed-with", "none", "--json"]
    assert cli.main([*argv, "--out", str(tmp_path)]) == 1
    header, *rows, _ = map(json.loads, (tmp_path / "report.jsonl").read_text().splitlines())
    row = next(row for row in rows if row["outcome"] == "fail")
    racing = [step["method"] for step in row["script"] if step.get("at_once")]
    assert len(racing) > 1
    assert set(racing) == {"try_claim_task"}
    capsys.readouterr()
    assert cli.main(["replay", str(tmp_path / "report.jsonl"), row["requirement"], "--yes"]) == 0
    out = capsys.readouterr().out
    assert replay_command(row, header) in out
    assert out.count("∥try_claim_task") == len(racing)


def test_a_replay_ends_with_what_the_check_says_of_the_bus_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the faulty one as before; on another bus than the report's, that one's outcome; no call is one of a race."""
    bus = faults("worker")["anyone_releases"].spec()
    argv = ["check", "worker", "--bus", bus, "--only", "lease.renew_after_retake", "--mixed-with", "none", "--json"]
    assert cli.main([*argv, "--out", str(tmp_path)]) == 1
    last_lines = []
    for again in (["--yes"], ["--bus", reference("worker")]):
        capsys.readouterr()
        assert cli.main(["replay", str(tmp_path / "report.jsonl"), "worker.lease.12", *again]) == 0
        out = capsys.readouterr().out
        assert "∥" not in out
        last_lines.append(out.splitlines()[-1])
    assert last_lines[0].startswith("lease.renew_after_retake, played anew: fail ")
    assert last_lines[1] == "lease.renew_after_retake, played anew: pass"
