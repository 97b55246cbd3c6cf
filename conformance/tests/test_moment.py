"""A bus whose clock is the machine's: its times are known to within its calls."""

import contextlib
import copy
import pickle
import sys
from pathlib import Path

import pytest

from busproof.bus.fleet import Fleet
from busproof.oracle.models.spec import Cited, Moment, Told, Undecided, differs, held
from busproof.play.explore import corpus
from busproof.systems import SYSTEMS

# The reference, whose time cannot be set; with an argument, it tells its messages' times so much too late.
WALL = """
import re, subprocess, sys
bus = subprocess.Popen([sys.executable, "-m", "refbus.driver"], stdin=-1, stdout=-1, text=True, bufsize=1)
late_ms = int(sys.argv[1])
for line in sys.stdin:
    bus.stdin.write(line)
    answer = re.sub('"ts_ms": ?([0-9]+)', lambda it: f'"ts_ms": {int(it[1]) + late_ms}', bus.stdout.readline())
    print(re.sub('"clock": ?"manual"', '"clock": "wall"', answer), end="", flush=True)
"""
SCRIPTS = ("pairs", "bounds", "races_of_messages", "retries_of_one_message", "values", "years_go_by")


def test_a_time_that_surely_came_first_is_earlier() -> None:
    """All of one before all of the other."""
    assert Moment(1, 5) < Moment(6, 9)
    assert not Moment(6, 9) <= 5
    assert Moment(6, 9) > Moment(1, 5)
    assert Moment(1, 5) != 6


@pytest.mark.parametrize("other", [Moment(4, 9), 3])
def test_times_that_may_be_the_same_are_undecided(other: int) -> None:
    """No answer is blamed on them."""
    with pytest.raises(Undecided):
        assert Moment(1, 5) < other
    with pytest.raises(Undecided):
        assert Moment(1, 5) == other


def test_a_difference_of_two_times_is_as_wide_as_both() -> None:
    """From the nearest to the farthest."""
    age_ms = Moment(100, 110) - Moment(40, 45)
    assert isinstance(age_ms, Moment)
    assert (int(age_ms), age_ms.latest) == (55, 70)


def test_an_answer_may_tell_any_millisecond_of_it() -> None:
    """Neither one before nor one after."""
    assert [ms for ms in range(8) if differs(Moment(2, 4), ms) is None] == [2, 3, 4]


def test_a_copy_of_a_state_keeps_it() -> None:
    """States are told apart by their texts."""
    moment = Moment(2, 4)
    for other in (pickle.loads(pickle.dumps(moment)), copy.deepcopy(moment)):
        assert repr(other) == repr(moment) != repr(Moment(2, 5))


def test_a_row_holds_where_an_answer_shows_its_part() -> None:
    """Not where a bus need not tell it, or there is nothing to see."""
    part = {"a": Cited(1, ("r1",)), "b": [Cited(Told(2), ("r2",))], "c": Cited([], ("r3",))}
    for second, shown in ((2, {"r1", "r2"}), (None, {"r1"})):
        rows = set[str]()
        held(part, {"a": 1, "b": [second], "c": []}, rows)
        assert rows == shown


@pytest.mark.parametrize(("late_ms", "broken"), [(0, set()), (3_600_000, {"worker.log.13"})])
def test_the_corpus_judges_a_bus_on_the_machines_clock(late_ms: int, broken: set[str], tmp_path: Path) -> None:
    """Steps of the clock are left out, and all else is judged at the machine's time."""
    (tmp_path / "bus.py").write_text(WALL)
    specification = SYSTEMS["worker"].model
    assert specification is not None
    spec = f"exec:{sys.executable} {tmp_path / 'bus.py'} {late_ms}"
    with contextlib.closing(Fleet([spec], system="worker")) as fleet:
        assert fleet.hello.clock == "wall"
        replay = corpus.replay(fleet, specification, corpus.scripts("worker", only=SCRIPTS))
    rows = {row for program in replay.broken.values() for row in program.mismatch.rows}
    assert rows >= broken and bool(rows) == bool(broken)
    assert replay.rows["worker.log.07"]
