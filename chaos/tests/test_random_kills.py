"""Agents side by side, killed again and again: nothing acknowledged is lost, nothing doubled, no lease overlaps."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from buschaos import report
from buschaos.nemeses import syscalls
from buschaos.plan import AgentPlan, Call, Death
from buschaos.run import Run, Settings, run
from buschaos.workload import Job, _Player
from busproof.bus.base import Refused
from busproof.bus.fleet import reference
from busproof.contract.history import read
from busproof.run.result import RowResult

PLANS = 4  # of these, one at least strikes a fault


def play(out: Path, specs: list[str], kills: int, seed: int = 1) -> tuple[Run, RowResult]:
    """A run, and its one row."""
    result = run(Settings(specs=specs, out=out, system="worker", kills=kills, seed=seed))
    (row,) = report.rows(result, "worker")
    return result, row


def test_the_reference_survives_thirty_kills(tmp_path: Path) -> None:
    """All thirty happen, and the row passes."""
    result, row = play(tmp_path, [reference("worker")], 30)
    assert [problem.why for problem, _ in result.acts[0].problems] == []
    assert row.outcome == "pass", row.why
    assert result.acts[0].counts["kills"] == 30
    assert result.acts[0].counts["acknowledged messages"] > 100


def test_the_history_tells_what_happened(tmp_path: Path) -> None:
    """A header with the plan, every kill as a nemesis event, new process numbers, a dump at the end, a footer."""
    play(tmp_path, [reference("worker")], 16)
    events = list(read(tmp_path / "history.jsonl"))
    assert events[0].type == "header"
    assert events[0].value["plan"]["seed"] == 1
    assert sum(event.type == "nemesis" for event in events) == 16
    assert events[-1].type == "footer"
    assert events[-2].op == "dump"
    ended = {event.process: event.index for event in events if event.type == "nemesis"}
    assert all(event.index <= ended.get(event.process, event.index) for event in events[1:-1])
    agents: dict[int, set[str]] = {}
    for event in events[1:-1]:
        if event.type == "nemesis" and event.agent:
            agents.setdefault(event.process, set()).add(event.agent)
    assert all(len(names) == 1 for names in agents.values())


def test_clocks_that_the_plan_has_right_never_run_backwards(tmp_path: Path) -> None:
    """Rounds are played in step: a later invocation has no earlier time."""
    play(tmp_path, [reference("worker")], 16)
    plan = json.loads((tmp_path / "plan.json").read_text())
    wrong = {agent["name"] for agent in plan["agents"] if any(agent["offsets_ms"])}
    calls = [e for e in read(tmp_path / "history.jsonl") if e.type == "invoke" and e.op != "clock.set" and e.bus_ms]
    times = [e.bus_ms for e in calls if e.agent not in wrong]
    assert times == sorted(times)
    assert len(set(times)) > 2
    assert {e.agent for e in calls} & wrong


def test_a_planted_fault_is_found(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """The row fails, and a problem names the fault: random kills find by luck, so a few plans may miss the place."""
    for seed in range(1, PLANS + 1):
        result, row = play(tmp_path / str(seed), [faulty("worker/answers_before_commit")], 24, seed)
        if any("lost" in problem.why for problem, _ in result.acts[0].problems):
            break
    else:
        pytest.fail("no plan shows what was lost")
    assert row.outcome == "fail"


def test_a_bus_that_ends_by_itself_is_found(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """Even if it answers everything before."""
    result, row = play(tmp_path, [faulty("worker/ends_by_itself")], 8)
    assert row.outcome == "fail"
    assert any("without being killed" in problem.why for problem, _ in result.acts[0].problems)


def test_without_the_supervisor_it_kills_after_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on, and says so."""
    monkeypatch.setattr(syscalls, "why_unavailable", lambda: "not here")
    result, row = play(tmp_path, [reference("worker")], 8)
    assert row.outcome == "pass"
    assert any("not here" in note for note in result.acts[0].notes)
    kinds = Counter(e.value["kind"] for e in read(tmp_path / "history.jsonl") if e.type == "nemesis")
    assert set(kinds) <= {"moment", "acknowledged", "asleep"}


def test_two_buses_share_a_store_under_kills(tmp_path: Path, harmless: Callable[[str], str]) -> None:
    """A mixed fleet: agents alternate between the two."""
    result, row = play(tmp_path, [reference("worker"), harmless("refbus_again")], 16)
    assert row.outcome == "pass", row.why
    assert result.acts[0].counts["kills"] == 16


def test_a_script_that_begins_a_run_when_it_is_imported_is_told_so_in_a_line(tmp_path: Path) -> None:
    """Drivers import it again; each would begin a run of its own."""
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\n"
        "from buschaos.run import Settings, run\n"
        f"specs, out = [{reference('worker')!r}], Path({str(tmp_path / 'out')!r})\n"
        "run(Settings(specs=specs, out=out, system='worker', kills=8))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert 'if __name__ == "__main__":' in done.stderr
    assert "freeze_support" not in done.stderr


@pytest.mark.nightly
def test_the_reference_survives_a_thousand_kills(tmp_path: Path) -> None:
    """0 lost, 0 doubled, 0 overlaps, integrity ok."""
    result, row = play(tmp_path, [reference("worker")], 1000)
    assert [problem.why for problem, _ in result.acts[0].problems] == []
    assert row.outcome == "pass", row.why
    assert result.acts[0].counts["kills"] == 1000


@pytest.mark.parametrize(("death", "definite"), [(True, False), (True, True), (False, False)])
def test_a_call_that_the_kit_ended_is_not_blamed_for_saying_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, death: bool, definite: bool
) -> None:
    """A signal to a group may end the bus before its adapter, which then has time for an answer."""

    def refuse(*_: object) -> None:
        raise Refused("NO_ANSWER", "the bus was ended by signal 2", definite=definite)

    call = Call("receive", {}, Death("moment", 0.5, "SIGINT") if death else None)
    plan = AgentPlan("reader", "reader", ((call,),))
    job = Job(("exec:a",), "mailbox", tmp_path, tmp_path, "test", False, None, ((0, plan),), 1, {})
    for name in ("_call_and_die", "_call_counted", "_begin"):
        monkeypatch.setattr(_Player, name, refuse if name != "_begin" else lambda _: object())
    player = _Player(job, 0, plan, None)  # type: ignore[arg-type]
    player.play(0, 0)
    assert bool(player.tally.strange) is not (death and not definite)


def test_a_session_that_stands_still_leaves_to_others_the_server_that_they_share(tmp_path: Path) -> None:
    """All call the server that the first of them started. If it stood still as well, the run would not end."""
    file = Path(__file__).parents[2] / "conformance/examples/mapped_http/bus.toml"
    result = run(Settings(specs=[f"toml:{file}"], out=tmp_path, system="mailbox", kills=24, seed=5))
    (act,) = result.acts
    assert (act.problems, act.could_not_run) == ([], None)
    assert any("asleep" in note for note in act.notes)
