"""A row passes only where its script ran to its end."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from busproof import systems
from busproof.bus.base import Lost, Refused
from busproof.bus.fleet import BudgetSpent, Fleet
from busproof.contract.catalogue import catalogue
from busproof.contract.history import Event
from busproof.oracle.checks import Verdict, Witness
from busproof.oracle.checks.mail import UNREAD
from busproof.play.scenarios.common import raced
from busproof.play.suite import SCENARIOS, Ctx, Scenario, stage
from busproof.run import scenario
from busproof.run.history import _refused_end
from busproof.run.items import Run
from busproof.run.result import RowResult
from busproof.run.runner import run_item
from busproof.systems import SYSTEMS, play

assert SYSTEMS  # all scripts are known

# Scripts of one and of two rows, all MUST and without needs.
ALONE, OF_ONE = "route.one_order", "worker.route.05"
PAIR, FIRST, SECOND = "cursor.poll_does_not_advance", "worker.cursor.01", "worker.cursor.02"


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """The kit's own participant: no process to start."""
    fleet = Fleet(["sqlite:"], system="worker")
    yield fleet
    fleet.close()


@pytest.fixture
def decide(monkeypatch: pytest.MonkeyPatch, fleet: Fleet) -> Callable[..., dict[str, tuple[str, str]]]:
    """Row → (outcome, why), of rows of one script, whose text is the test's own."""

    def run(item: str, play: Callable[[Ctx], None]) -> dict[str, tuple[str, str]]:
        monkeypatch.setitem(SCENARIOS["worker"], item, Scenario(item, play))
        return {result.requirement: (result.outcome, result.why) for result in run_item(fleet, item)}

    return run


@pytest.mark.parametrize("error", [Refused("INTERNAL", "TypeError", definite=False), Lost("no answer")])
def test_a_script_that_breaks_after_its_only_row_held_once_is_a_failure(decide, error: Exception) -> None:
    """There was more to expect."""

    def play(ctx: Ctx) -> None:
        ctx.expect(OF_ONE, True, "")
        raise error

    outcome, why = decide(ALONE, play)[OF_ONE]
    assert outcome == "fail"
    assert str(error) in why


@pytest.mark.parametrize(
    ("shows_at", "is_by_luck", "outcome", "plays"),
    [
        (3, True, "fail", 3),  # the third play shows what the first two did not
        (3, False, "pass", 1),  # a race that was forced, or none: one play decides
        (99, True, "pass", scenario.PLAYS_OF_LUCK),
    ],
)
def test_a_race_that_could_not_be_forced_is_played_until_it_shows_something(
    decide, monkeypatch: pytest.MonkeyPatch, shows_at: int, is_by_luck: bool, outcome: str, plays: int
) -> None:
    """Each time on a new store."""
    monkeypatch.setattr(scenario, "LUCK_S", 3_600.0)
    stores = []

    def play(ctx: Ctx) -> None:
        stores.append(ctx.store)
        ctx.is_by_luck = is_by_luck
        ctx.expect(OF_ONE, len(stores) < shows_at, "two got it")

    assert decide(ALONE, play)[OF_ONE][0] == outcome
    assert len(set(stores)) == len(stores) == plays


def test_what_one_play_decided_stands_if_there_is_no_time_for_another(decide) -> None:
    """The budget may be over between two plays of a race that is left to luck."""
    plays = []

    def play(ctx: Ctx) -> None:
        plays.append(ctx)
        ctx.is_by_luck = True
        if len(plays) == 2:
            raise BudgetSpent
        ctx.expect(OF_ONE, True, "")

    assert decide(ALONE, play)[OF_ONE][0] == "pass"
    assert len(plays) == 2


@pytest.mark.parametrize(("has_tables", "is_by_luck"), [(True, False), (False, True)])
def test_a_race_without_a_lock_that_the_kit_can_hold_is_left_to_luck(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, has_tables: bool, is_by_luck: bool
) -> None:
    """And says so; with the seed's tables it is forced."""
    monkeypatch.setattr(Ctx, "has", lambda _, name: has_tables)
    with stage(fleet, run="race") as ctx:
        raced(ctx, *[partial(ctx.agent(name).call, "publish", message={"type": "note"}) for name in "ab"])
        assert ctx.is_by_luck == is_by_luck


def test_the_row_that_was_not_reached_takes_the_blame_and_the_other_is_not_green(decide) -> None:
    """One held before the break, the other was never asked."""

    def play(ctx: Ctx) -> None:
        ctx.expect(FIRST, True, "")
        raise Lost("no answer")

    decided = decide(PAIR, play)
    assert decided[FIRST][0] == "inconclusive"
    assert decided[SECOND][0] == "fail"


def test_a_fault_of_the_script_itself_blames_no_bus(decide) -> None:
    """KeyError in the kit is could-not-run."""

    def play(ctx: Ctx) -> None:
        ctx.expect(OF_ONE, True, "")
        raise KeyError("seq")

    assert decide(ALONE, play)[OF_ONE][0] == "could-not-run"


def test_what_was_seen_to_be_broken_stays_so(decide) -> None:
    """Even if something breaks later."""

    def play(ctx: Ctx) -> None:
        ctx.expect(FIRST, True, "")
        ctx.expect(SECOND, False, "seen")
        ctx.expect(SECOND, True, "")
        raise Lost("no answer")

    decided = decide(PAIR, play)
    assert decided[FIRST][0] == "inconclusive"
    assert decided[SECOND] == ("fail", "seen")


@pytest.mark.parametrize("error", [Lost("no answer"), IndexError("list index out of range")])
def test_a_row_that_an_earlier_one_kept_from_being_asked_is_blocked_by_it(decide, error: Exception) -> None:
    """It is no failure of its own."""

    def play(ctx: Ctx) -> None:
        ctx.expect(FIRST, False, "seen")
        raise error

    decided = decide(PAIR, play)
    assert decided[FIRST] == ("fail", "seen")
    outcome, why = decided[SECOND]
    assert outcome == "inconclusive" and why.startswith(f"blocked by {FIRST}")


def test_a_row_for_which_nothing_came_to_be_looked_at_is_blocked_by_the_one_that_failed(decide) -> None:
    """Its script ends there; where none failed, that is a fault of the script."""
    why = f"blocked by {FIRST}, which leaves nothing to look at"
    assert decide(PAIR, lambda ctx: ctx.expect(FIRST, False, "seen"))[SECOND] == ("inconclusive", why)
    assert decide(PAIR, lambda ctx: ctx.expect(FIRST, True, ""))[SECOND][0] == "could-not-run"


def test_a_script_that_sees_another_scripts_row_broken_fails_it_and_is_blocked_by_it(decide) -> None:
    """One cause, one row."""
    decided = decide(ALONE, lambda ctx: ctx.expect(FIRST, False, "seen"))
    assert decided[FIRST] == ("fail", "seen")
    assert decided[OF_ONE] == ("inconclusive", f"blocked by {FIRST}, which leaves nothing to look at")


def test_another_scripts_row_that_held_is_left_to_that_script(decide) -> None:
    """It may have more to ask."""

    def play(ctx: Ctx) -> None:
        ctx.expect(FIRST, True, "")
        ctx.expect(OF_ONE, True, "")

    assert decide(ALONE, play) == {OF_ONE: ("pass", "")}


def test_another_scripts_row_that_does_not_apply_is_not_blamed(decide, fleet: Fleet) -> None:
    """The kit's participant has no search, for one."""
    row = next(row for row in catalogue("worker").values() if row.noun not in fleet.hello.nouns and row.item)
    assert row.id not in decide(ALONE, lambda ctx: ctx.expect(row.id, False, "seen"))


@pytest.mark.parametrize(
    ("kinds", "failed"),
    [
        (["id_moved"], {"worker.log.09"}),
        (["gap"], {"worker.log.06"}),
        (["gap", "id_moved"], {"worker.log.06", "worker.log.09"}),
        (["seq_doubled", "id_moved"], {"worker.log.06"}),  # its first number went to another message
    ],
)
def test_a_witness_of_another_rows_sentence_fails_that_row_alone(
    kinds: list[str], failed: set[str], fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message under two numbers is a retry that was appended, and no disorder of the log."""

    def run_checks(lines: Any) -> list[Verdict]:
        witnesses = [Witness((1, 2), kind, 1, 2) for kind in kinds]
        return [
            Verdict("order", "invalid", witnesses, 1) if verdict.check == "order" else verdict
            for verdict in systems.run_checks(lines)
        ]

    monkeypatch.setattr("busproof.run.history.run_checks", run_checks)
    results = run_item(fleet, "history")
    assert {result.requirement for result in results if result.outcome == "fail"} == failed
    assert {result.outcome for result in results if result.requirement == "worker.log.06"} == {
        "fail" if "worker.log.06" in failed else "pass"
    }


def test_an_answer_of_another_shape_is_told_in_words(decide) -> None:
    """Not as an error of our script alone."""

    def play(ctx: Ctx) -> None:
        raise IndexError("list index out of range")

    outcome, why = decide(ALONE, play)[OF_ONE]
    assert outcome == "could-not-run" and why.startswith("the script needs an answer of another shape")


def test_a_history_with_a_garbage_line_decides_nothing(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows are inconclusive, and the run goes on."""

    def played(*arguments: Any, into: Path, **options: Any) -> Path:
        play(*arguments, into=into, **options)
        first, second, *rest = into.read_text().splitlines(keepends=True)
        into.write_text("".join([first, "this is no event\n", second, *rest]))
        return into

    monkeypatch.setattr("busproof.run.history.play", played)
    outcomes = {result.requirement: result.outcome for result in run_item(fleet, "history")}
    assert outcomes["worker.log.06"] == "inconclusive"
    assert set(outcomes.values()) <= {"inconclusive", "not-applicable"}


def test_an_inbox_that_was_never_read_to_the_end_tells_the_refusal_that_ended_it() -> None:
    """The last one of its reader; of a reader that was answered there is none."""
    made: dict[str, Any] = {"run": "r", "system": "mailbox", "process": 1, "wall_ms": 0, "mono_ns": 0}
    events = [
        Event(index=1, type="fail", op="ack", agent="ann", code="REFUSED", value="no such id", **made),
        Event(index=2, type="info", op="receive", agent="ann", code="INTERNAL", value="JSONDecodeError", **made),
        Event(index=3, type="fail", op="send", agent="ann", code="REFUSED", value="later", **made),
        Event(index=4, type="ok", op="receive", agent="bob", value={"messages": []}, **made),
    ]
    assert _refused_end(f"ann {UNREAD}", events) == ": its last receive was answered INTERNAL, JSONDecodeError"
    assert _refused_end(f"bob {UNREAD}", events) == _refused_end("the history was cut", events) == ""


BREAKS = """
from refbus.driver import serve
from refbus.worker.bus import WorkerBus


class Breaks(WorkerBus):
    def release_claim(self, task_id, agent_id):
        raise ZeroDivisionError("a bug of the bus")


serve({"worker": Breaks})
"""


def history_of(source: str, folder: Path) -> list[RowResult]:
    """The rows of the history of a bus with this source."""
    (folder / "bus.py").write_text(source)
    with closing(Fleet([f"exec:{sys.executable} {folder / 'bus.py'}"], system="worker")) as fleet:
        return run_item(fleet, "history")


def test_a_history_in_which_the_bus_breaks_by_itself_passes_no_row(tmp_path: Path) -> None:
    """Nothing struck it: the calls that it did answer show nothing sound, and the first that it did not is quoted."""
    results = history_of(BREAKS, tmp_path)
    assert {result.outcome for result in results} <= {"inconclusive", "not-applicable"}
    assert any("answers were INTERNAL, though nothing struck; the first to release_claim" in row.why for row in results)


REFUSES_THE_DUMP = """
from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.worker.bus import WorkerBus


class Refuses(WorkerBus):
    def dump(self):
        raise InvalidArgument("more than I can tell")


serve({"worker": Refuses})
"""


def test_a_dump_that_is_refused_is_quoted_where_a_row_needs_it(tmp_path: Path) -> None:
    reasons = [result.why for result in history_of(REFUSES_THE_DUMP, tmp_path) if result.outcome == "inconclusive"]
    assert reasons and all("no final dump: dump was answered INVALID_ARGUMENT, " in why for why in reasons)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_recorded_history_is_played_first(system: str, tmp_path: Path) -> None:
    """A stranger's bus lost a third of its messages, and the time of its check was over before the workload began."""
    assert Run(tmp_path, system, "exec:no such bus", "", [], "", 1, "", nightly=False).items()[0] == ("bus", "history")
