"""A run may be cut short, by its time, enough problems or Ctrl-C: it tells what it knows, and nothing is green."""

from __future__ import annotations

import io
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import multiprocess
import pytest

from buschaos import cli, diskfull, report
from buschaos.acts.base import Findings
from buschaos.bus import RunFailed
from buschaos.limits import Enough, Progress, Time
from buschaos.live import Live
from buschaos.points import ENDS
from buschaos.run import Settings, run
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from busproof.bus.fleet import reference
from busproof.pages.report import lines


class Interrupted(Progress):
    """A user who has seen enough after so many points."""

    def __init__(self, points: int) -> None:
        super().__init__()
        self._left = points

    def point(self, count: int = 1) -> None:
        before, self._left = self._left, self._left - count
        if self._left < 0 <= before:  # once: who asks twice does not wait for what is known
            raise KeyboardInterrupt


def settings(out: Path, bus: str = "", **more: object) -> Settings:
    """Kill points of one operation, then holds of it."""
    operations = tuple(op for op in SUBJECTS["worker"].repertoire.operations if op.name == "save_blob")
    how: dict[str, Any] = {"points": True, "holds": True, "crossed": 0, "operations": operations, **more}
    return Settings(specs=[bus or reference("worker")], out=out, system="worker", **how)


def test_time_is_shared_and_what_one_leaves_the_others_have() -> None:
    """Without an end there is always some; less than the least is not worth beginning."""
    assert not Time().is_limited
    assert not Time().part(1000).is_over
    assert Time(0).is_over
    assert Time(0).part(1, least_s=10).is_over
    assert 24 < Time(100).part(4).left_s <= 25
    assert 9 < Time(100).part(1000, least_s=10).left_s <= 10
    assert Time().ordered("abc", "any") == ["a", "b", "c"]
    assert Time(9).ordered(range(99), "s") == Time(9).ordered(range(99), "s") != list(range(99))


def test_where_time_is_short_each_kind_has_its_turn_first() -> None:
    """The rest as the seed has it; with time enough, as they are."""
    ordered = Time(9).ordered(range(99), "s", lambda number: number % 7)
    assert sorted(number % 7 for number in ordered[:7]) == list(range(7))
    assert sorted(ordered) == list(range(99))
    assert Time().ordered(range(9), "s", lambda number: number % 7) == list(range(9))


def test_where_time_is_short_the_acts_that_never_end_come_last(tmp_path: Path) -> None:
    """They have what the others leave; without a limit nobody waits for anybody."""
    asked = settings(tmp_path, kills=1, damage=1, disk_full=True, time=Time(0))
    names = [act.name for act in run(asked).acts]
    assert names == ["chaos.damage", "chaos.kill_points", "chaos.disk_full", "chaos.random_kills", "chaos.holds"]


def test_no_time_leaves_all_out_and_no_row_is_green(tmp_path: Path) -> None:
    """Every act says so."""
    result = run(settings(tmp_path, time=Time(0)))
    assert [act.cut_short for act in result.acts] == [
        "the time was over, left out: 1 whole operations",
        "the time was over, left out: 3 whole pairs",
    ]
    assert {row.outcome for row in report.rows(result, "worker")} == {"inconclusive"}


def test_enough_problems_end_the_run_and_fail_their_rows(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """The problem is kept with its evidence; the act that was not begun says why; its rows are not green."""
    result = run(settings(tmp_path, faulty("worker/writes_blobs_in_place")), Progress(kinds_max=1))
    points, holds = result.acts
    assert len({problem.kind for problem, _ in points.problems}) == 1
    assert points.problems[0][1].exists()
    assert holds.cut_short == "not begun: as many kinds of problems as were asked for are known: 1"
    outcome_of = {row.requirement: row.outcome for row in report.rows(result, "worker")}
    assert outcome_of["worker.blob.16"] == "fail"
    assert outcome_of["worker.export.12"] == outcome_of["worker.log.66"] == "inconclusive"


def test_enough_problems_of_a_full_disk_end_its_process_before_its_folder_goes(
    tmp_path: Path, faulty: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a process that still writes there keeps the folder from going, and there is no report."""
    started: list[subprocess.Popen[str]] = []
    over: list[bool] = []

    class Started(subprocess.Popen[str]):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            if diskfull.__name__ in self.args:
                started.append(self)

    class Folder(tempfile.TemporaryDirectory[str]):
        def cleanup(self) -> None:
            over.extend(process.poll() is not None for process in started if "busproof-disk-" in self.name)
            super().cleanup()

    monkeypatch.setattr(subprocess, "Popen", Started)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", Folder)
    how = Settings(
        specs=[faulty("worker/swallows_full_disk")],
        out=tmp_path,
        system="worker",
        disk_full=True,
        levels=(0, 1, 2, 3, 4),
    )
    (act,) = run(how, Progress(kinds_max=1)).acts
    assert act.cut_short == "as many kinds of problems as were asked for are known: 1"
    assert act.problems and act.counts["levels of a full disk"] < 10
    assert over == [True]


def test_who_interrupts_is_told_what_was_known(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """After six points of a bus that tears its blobs."""
    result = run(settings(tmp_path, faulty("worker/writes_blobs_in_place")), Interrupted(6))
    assert result.is_interrupted
    assert result.acts[0].counts["points killed"] == 7
    assert result.acts[0].problems
    assert [act.cut_short for act in result.acts] == ["interrupted", "not begun: interrupted"]


@pytest.mark.parametrize("lanes", [1, 2])
def test_who_interrupts_a_long_run_of_power_cuts_is_told_what_was_known(tmp_path: Path, lanes: int) -> None:
    """Also where processes share its sessions; and the other level of durability is not begun."""
    operations = tuple(op for op in SUBJECTS["worker"].repertoire.operations if op.name == "save_blob")
    asked = Settings([reference("worker")], tmp_path, "worker", power=4_001, lanes=lanes, operations=operations)
    result = run(asked, Interrupted(6))
    (act,) = result.acts
    assert (result.is_interrupted, act.cut_short) == (True, "interrupted")
    assert act.counts["distinct images"] >= 6
    assert sum(note.startswith("judged at") for note in act.notes) == 1
    assert multiprocess.active_children() == []


def of_deaths(act: Findings) -> list[str]:
    """The problems. A session that was asked to end is left out: it may end before its change, or behind it."""
    return [problem.why for problem, _ in act.problems if problem.again.rpartition(":")[2] not in ENDS]


def test_acts_side_by_side_find_what_they_find_in_turn(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """The same counts and kinds of problems, in the order of the acts, and each keeps its evidence."""
    bus = faulty("worker/writes_blobs_in_place")
    in_turn = run(settings(tmp_path / "turn", bus))
    heard: list[str] = []

    class Heard(Progress):
        def say(self, text: str) -> None:
            heard.append(text.partition(":")[0])

    at_once = run(settings(tmp_path / "once", bus, lanes=2), Heard())
    assert {"kill points", "holds"} == set(heard)
    for alone, beside in zip(in_turn.acts, at_once.acts, strict=True):
        assert (alone.name, alone.counts) == (beside.name, beside.counts)
        assert of_deaths(alone) == of_deaths(beside)
        assert all(history.exists() for _, history in beside.problems)


def test_enough_problems_end_the_acts_beside_it(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """Both say so; no process of an act is left."""
    asked = settings(tmp_path, faulty("worker/writes_blobs_in_place"), lanes=2, drawn=10_000)
    points, holds = run(asked, Progress(kinds_max=1)).acts
    assert points.problems
    assert holds.cut_short == "as many kinds of problems as were asked for are known: 1"
    assert multiprocess.active_children() == []


def test_a_user_who_interrupts_acts_side_by_side_ends_them_all_and_is_told_so(tmp_path: Path) -> None:
    """Ctrl-C at the sixth point; the third act was not begun. What runs in the background of a shell ignores SIGINT."""
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        result = run(settings(tmp_path, lanes=2, drawn=10_000, damage=1), Interrupted(6))
    finally:
        signal.signal(signal.SIGINT, ignored)
    assert result.is_interrupted
    assert sorted(act.cut_short for act in result.acts) == ["interrupted", "interrupted", "not begun: interrupted"]
    assert multiprocess.active_children() == []


def test_the_command_ends_at_the_first_problem_and_tells_it_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], faulty: Callable[[str], str]
) -> None:
    """Exit 1, the finding on stderr while it runs, and the acts that were not played beside the verdict."""
    bus = faulty("worker/writes_blobs_in_place")
    argv = ["worker", "--points", "--only", "save_blob", "--stop-after", "1", "--bus", bus, "--out", str(tmp_path)]
    assert cli.main(argv) == 1
    out = capsys.readouterr()
    assert "✗ blob: " in out.err
    assert "in part; not played: damage, disk full, holds, power loss, random kills, waits; only save_blob" in out.out
    assert lines.load(tmp_path / "report.jsonl").header["part"].startswith("in part")


def test_no_minutes_are_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, and how much was left out."""
    assert cli.main(["worker", "--points", "--minutes", "0", "--out", str(tmp_path)]) == 2
    count = len(SUBJECTS["worker"].repertoire.operations)
    assert f"cut short: the time was over, left out: {count} whole operations" in capsys.readouterr().out


class Terminal(io.StringIO):
    """A stream at which a person looks."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_problems_and_where_the_run_is() -> None:
    """One line that moves, each kind of problem once; enough of them end it."""
    out = Terminal()
    with Live(Time(100), 2, out=out) as live:
        live.say("kill points: publish")
        live.point()
        live.found(Problem("log", "lost: message 1"), "chaos.kill_points")
        live.found(Problem("log", "lost: message 2"), "chaos.kill_points")
        assert live.line().startswith("1 points, 1 kinds of problems; ")
        assert live.line().endswith("kill points: publish")
        with pytest.raises(Enough):
            live.found(Problem("blob", "torn"), "chaos.kill_points")
    assert out.getvalue().count("✗ log: lost") == 1


def test_a_pipe_gets_a_line_for_each_step() -> None:
    """No control characters, even if a bus has them in its name."""
    out = io.StringIO()
    with Live(Time(), out=out) as live:
        live.say("kill points: \x1b[31mpublish")
        live.found(Problem("log", "lost"), "chaos.kill_points")
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().splitlines()[1] == "✗ log: lost"


def test_a_run_that_was_stopped_goes_on_with_the_acts_that_are_left(tmp_path: Path) -> None:
    """With what is known of the others; another seed is another run. Nobody has to remember the seed."""
    (points,) = run(settings(tmp_path, holds=False, seed=7)).acts
    with (tmp_path / "acts.jsonl").open("a") as file:
        file.write('{"what": [[')  # of another act, in which the run was killed
    line = ["worker", "--points", "--resume", "--out", str(tmp_path)]
    assert cli._settings(cli.parser().parse_args(line)).shared.seed == 7
    known, waits = run(settings(tmp_path, holds=False, waits=True, seed=7, resumes=True)).acts
    assert (known.counts, known.seconds, known.nouns) == (points.counts, points.seconds, points.nouns)
    assert waits.seconds
    (again,) = run(settings(tmp_path, holds=False, seed=8, resumes=True)).acts
    assert again.seconds != points.seconds


def test_a_file_of_finished_acts_that_nobody_can_read_is_told(tmp_path: Path) -> None:
    """And nothing is played."""
    (tmp_path / "acts.jsonl").write_text('{"seed": 7}\n{"findings"\n')
    with pytest.raises(RunFailed, match="is not what a run wrote"):
        run(settings(tmp_path, resumes=True))
