"""A reader that waits stands still in its looks, until its news is there. It must be woken."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path

import pytest

from buschaos import report
from buschaos.acts import acts_of
from buschaos.cli import main
from buschaos.holds import Holds, PairResult
from buschaos.points import Place
from buschaos.run import Settings, run
from buschaos.subjects import SUBJECTS
from busproof.bus.fleet import Fleet, reference

REFUSES_TO_WAIT = """
from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.worker.bus import WorkerBus


class Hasty(WorkerBus):
    def poll(self, agent_id, limit=100, wait_ms=0):
        if wait_ms:
            raise InvalidArgument("nobody waits here")
        return super().poll(agent_id, limit)


serve({"worker": Hasty})
"""
WAITERS = sorted(name for name in SUBJECTS if "chaos.waits" in map(attrgetter("name"), acts_of(name)))


def test_the_systems_with_a_call_that_waits_are_those_that_are_asked() -> None:
    assert [name for name, subject in sorted(SUBJECTS.items()) if subject.repertoire.waits] == WAITERS
    assert WAITERS == ["comms", "mailbox", "timeline", "topics", "worker"]


def play_all(spec: str, system: str, out: Path, only: Place | None = None) -> list[PairResult]:
    """The pairs of a system."""
    with contextlib.closing(Fleet([spec], system=system)) as fleet:
        return list(Holds(fleet, out, waits=True, only=only).run())


def play(spec: str, system: str, out: Path, only: Place | None = None) -> PairResult:
    """The first of them."""
    result, *_ = play_all(spec, system, out, only)
    return result


@pytest.mark.parametrize("system", WAITERS)
def test_the_reference_is_woken_wherever_it_stands(system: str, tmp_path: Path) -> None:
    """Even if it sleeps already; no place is left out."""
    for result in play_all(reference(system), system, tmp_path):
        assert [problem.why for problem, _ in result.problems] == []
        assert result.points > 5
        assert (result.left_out, result.spared) == (0, 0)


def test_who_was_not_woken_once_is_not_asked_again(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """It would wait as long at every place; the printed line plays the place alone, in the act that has the row."""
    result = play(faulty("worker/sleeps_on_what_came_while_it_looked"), "worker", tmp_path)
    ((problem, history),) = result.problems
    assert "went on waiting for 2" in problem.why and "--at" in problem.again
    assert history.exists() and result.spared > 0


def test_a_reader_that_is_always_refused_is_no_pass(tmp_path: Path) -> None:
    """Nobody was woken, and nothing says that somebody would be."""
    bus = tmp_path / "bus.py"
    bus.write_text(REFUSES_TO_WAIT)
    played = run(Settings([f"exec:{sys.executable} {bus}"], tmp_path / "out", "worker", waits=True))
    (row,) = report.rows(played, "worker")
    assert (row.requirement, row.outcome) == ("worker.cursor.25", "inconclusive")
    assert "refused at every place" in row.why


@pytest.mark.nightly
def test_where_the_sender_is_refused_nobody_must_be_woken(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """The reader holds the lock, and the sender that waits for it is told BUSY: nothing came."""
    spec = faulty("worker/reads_under_the_write_lock")
    for place in (Place(2), Place(3)):
        assert [problem.why for problem, _ in play(spec, "worker", tmp_path, place).problems] == []


def test_an_operation_that_waits_is_played_in_no_other_act(tmp_path: Path) -> None:
    """It would take its 20 s at every point."""
    (waiting,) = SUBJECTS["worker"].repertoire.waits
    settings = Settings([reference("worker")], tmp_path, "worker", operations=(waiting[0],), points=True)
    played = run(settings)
    assert not any(played.acts[0].counts.values())
    assert {row.outcome for row in report.rows(played, "worker")} == {"inconclusive"}


def test_the_line_of_a_place_plays_it_in_the_act_that_has_the_row(tmp_path: Path) -> None:
    line = ["worker", "--only", "poll that waits", "--against", "what it waits for", "--at", "2:hold"]
    assert main([*line, "--out", str(tmp_path)]) == 0
    assert '"worker.cursor.25"' in (tmp_path / "report.jsonl").read_text(encoding="utf-8")
