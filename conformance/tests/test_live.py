"""The output that a user sees while a check runs, and the items that a budget of time leaves out."""

from __future__ import annotations

import argparse
import io
import json
import os
import pty
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from busproof import cli
from busproof.faults.record import faults
from busproof.pages.report import lines
from busproof.pages.report import live as live_view
from busproof.pages.report.live import Live
from busproof.run import check
from busproof.systems import SYSTEMS


def part(folder: Path, name: str, *rows: tuple[str, str]) -> None:
    """An item's rows, as a worker leaves them."""
    results = [
        {"requirement": row, "outcome": outcome, "why": "it\x1b[2J was\nso", "fleet": name.partition("-")[0]}
        for row, outcome in rows
    ]
    (folder / f"{name}.json").write_text(json.dumps(results))


def test_who_asks_for_one_row_of_the_corpus_hears_that_not_all_scripts_are_played() -> None:
    """A script alone and a noun are played whole."""
    asked = {
        name: check._by_few_scripts(argparse.Namespace(system="worker", only=[name]))
        for name in ("worker.log.08", "corpus:volume", "lease")
    }
    assert "worker.log.08: by the shortest scripts" in asked.pop("worker.log.08")
    assert not any(asked.values())


def test_a_pipe_hears_each_broken_row_once_and_nothing_that_acts_on_a_terminal(tmp_path: Path) -> None:
    """Passes are not told; a part that is being written is read when it is whole."""
    out = io.StringIO()
    with Live(tmp_path, ["bus-a", "bus-b", "mixed-a"], out=out) as live:
        part(tmp_path, "bus-a", ("worker.log.01", "pass"), ("worker.log.02", "fail"))
        (tmp_path / "bus-b.json").write_text('[{"requi')
        live.look()
        part(tmp_path, "mixed-a", ("worker.log.02", "fail"))
        live.look()
        assert live.line().startswith("2 of 3 items, 1 rows pass, 1 fail; ")
    assert out.getvalue() == "fail worker.log.02: it\\x1b[2J was so\n"


def test_a_row_that_one_item_cannot_decide_is_not_told_of_until_the_end(tmp_path: Path) -> None:
    """Another item may decide it; and it is counted once, by the worst that is known."""
    with Live(tmp_path, ["bus-a", "bus-b", "mixed-b", "mixed-c"], out=io.StringIO()) as live:
        part(tmp_path, "bus-a", ("worker.log.01", "could-not-run"), ("worker.log.02", "inconclusive"))
        part(tmp_path, "bus-b", ("worker.log.01", "pass"), ("worker.log.03", "warn"))
        part(tmp_path, "mixed-b", ("worker.log.01", "pass"), ("worker.log.03", "pass"))
        live.look()
        assert live.line().startswith("3 of 4 items, 1 rows pass, 1 warn; ")


def test_a_terminal_shows_how_far_it_is(tmp_path: Path) -> None:
    """On one line that moves, below the rows that broke."""
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as terminal, Live(tmp_path, ["bus-a", "bus-b"], out=terminal) as live:
        part(tmp_path, "bus-a", ("worker.log.02", "fail"))
        live.look()
        drawn = ""
        while "1 of 2 items, 0 rows pass, 1 fail" not in drawn:  # it is drawn twelve times a second
            drawn += os.read(reader, 65536).decode()
    os.close(reader)
    assert "fail worker.log.02: it\\x1b[2J was so" in drawn


def test_what_takes_long_is_said_to_and_no_time_is_promised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items take a second or a minute: an estimate of the time left misled two strangers, in opposite ways."""
    now = [0.0]
    monkeypatch.setattr(live_view, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with Live(tmp_path, [f"bus-{number}" for number in range(25)], out=io.StringIO()) as live:
        for number in range(20):
            now[0] += 50 if number < 5 else 1
            part(tmp_path, f"bus-{number}", ("worker.log.01", "pass"))
            live.look()
        assert live.line().endswith("; 4 min")
        now[0] += 13
        assert live.line().endswith("; 5 min, waiting for 20, 21, 22 and 2 more")


def test_what_the_budget_does_not_reach_is_could_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2: a row that did not run is never green. JSON on stdout holds the counts, and nothing else is there."""
    argv = ["check", "worker", "--only", "route.broadcast_reaches_all", "--mixed-with", "none", "--out", str(tmp_path)]
    assert cli.main([*argv, "--budget", "0s", "--json"]) == 2
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "unknown" and set(report["counts"]) == {"could-not-run"}
    rows = [json.loads(line) for line in Path(report["report"]).read_text().splitlines()][1:-1]
    assert {row["why"] for row in rows} == {"the time of --budget was over before it was decided"}


SLOW = """
import json, sys, time
HELLO = {"protocol": "1", "name": "slow", "version": "1", "language": "python", "systems": ["mailbox"],
         "nouns": ["log", "cursor"], "features": ["ack"], "clock": "wall", "durability": "process-crash"}
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] not in ("hello", "open", "close"):
        time.sleep(600)
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": HELLO}), flush=True)
"""


def test_a_budget_ends_what_waits_for_the_bus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However long an answer takes: the run ends by its budget, and tells what was not played."""
    (tmp_path / "slow.py").write_text(SLOW)
    bus = f"exec:{sys.executable} {tmp_path / 'slow.py'}"
    assert cli.main(["check", "mailbox", "--bus", bus, "--out", str(tmp_path / "out"), "--budget", "4s", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["counts"].keys() == {"could-not-run", "not-applicable"}


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("0s", 0)])
def test_a_budget_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert check.budget(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "m", "-1m", "1d", "1e3s", "ten m"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        check.budget(text)


def test_a_row_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Its demand, its checks, a bus that breaks it, how to run it; an unknown id is 2 and one line."""
    assert cli.main(["explain", "worker.lease.12"]) == 0
    out = capsys.readouterr().out
    for words in ("renew is refused once retaken", "W9", "anyone_renews", "--only worker.lease.12"):
        assert words in out
    assert cli.main(["explain", "worker.lease.12", "x", "comms.lease.01"]) == 2
    assert "comms.lease.01  MUST" in capsys.readouterr().out
    assert cli.main(["explain", "worker.lease.99"]) == cli.main(["explain", "x"]) == 2
    assert "no requirement has the id" in capsys.readouterr().err


def test_a_row_that_is_asked_for_is_judged_by_all_that_decides_it(tmp_path: Path) -> None:
    """Its scenario passes on this bus, and the corpus fails it; other rows that it fails are not mentioned."""
    bus = faults("worker")["payloads_are_null"].spec()
    options = ["--mixed-with", "none", "--out", str(tmp_path)]
    assert cli.main(["check", "worker", "--bus", bus, "--only", "worker.export.02", *options]) == 1
    report = lines.load(tmp_path / "report.jsonl")
    assert report.footer["failed"] == ["worker.export.02"]
    assert len({row["requirement"] for row in report.rows}) < 5


def test_every_row_of_every_system_can_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """The list names them, as text and as JSON."""
    for system in SYSTEMS:
        assert cli.main(["list", system, "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        for row in rows:
            assert cli.main(["explain", row["id"]]) == 0
        capsys.readouterr()
        assert cli.main(["list", system]) == 0
        listed = capsys.readouterr().out
        assert all(f"  {row['id']} " in listed for row in rows)
