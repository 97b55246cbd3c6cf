"""One process stands still, and another works meanwhile: every schedule with one preemption, and no luck."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from buschaos import duet, judge
from buschaos.acts import acts_of
from buschaos.holds import Holds, PairResult, crossed, is_playable, pairs_of
from buschaos.nemeses.syscalls import Change
from buschaos.points import Place, Point, parse
from buschaos.subjects import SUBJECTS
from busproof.bus.fleet import Fleet, reference

HELD = sorted(name for name in SUBJECTS if "chaos.holds" in map(attrgetter("name"), acts_of(name)))


def play(spec: str, out: Path, system: str, *names: str, against: str | None = None) -> list[PairResult]:
    """All pairs of these operations that have a name, or those with one peer."""
    fleet = Fleet([spec], system=system)
    operations = tuple(op for op in SUBJECTS[system].repertoire.operations if op.name in names)
    try:
        how: dict[str, Any] = {"operations": operations, "twice": 3, "crossed": 0, "against": against}
        return list(Holds(fleet, out, judge=lambda events: judge.of_events(events).problems, **how).run())
    finally:
        fleet.close()


def play_one(spec: str, out: Path, name: str, against: str, place: Point | Place) -> list[PairResult]:
    """One schedule of one pair."""
    assert isinstance(place, Place)
    operations = tuple(op for op in SUBJECTS["worker"].repertoire.operations if op.name == name)
    with contextlib.closing(Fleet([spec], system="worker")) as fleet:
        return list(Holds(fleet, out, operations=operations, only=place, against=against).run())


def look_then_take(faulty: Callable[[str], str], out: Path) -> tuple[str, Path, str, str]:
    """A claim in two transactions."""
    return faulty("worker/claims_in_two_steps"), out, "worker", "try_claim_task"


def whys(results: list[PairResult]) -> list[str]:
    """Every problem, with its schedule."""
    return [f"{problem.point}: {problem.why}" for result in results for problem, _ in result.problems]


def test_the_reference_has_one_of_two_orders_whoever_stands_still(tmp_path: Path) -> None:
    """Claims, a renewal and a release against a claim after the lease, an acknowledgement against a publish."""
    names = ("try_claim_task", "renew_claim", "release_claim", "ack")
    results = play(reference("worker"), tmp_path, "worker", *names)
    assert whys(results) == []
    assert {result.operation.name for result in results} == set(names)
    assert sum(result.waited for result in results) > 5


def test_claims_of_one_message_by_two_processes(tmp_path: Path) -> None:
    """One of them gets it."""
    results = play(reference("comms"), tmp_path, "comms", "claim_message")
    assert whys(results) == []
    assert results


def test_look_then_take_is_found_every_time(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """Nothing but the schedule decides it: both are told that the task is theirs."""
    for turn in range(2):
        result, *_ = play(*look_then_take(faulty, tmp_path / str(turn)), against="a claim of the same task")
        assert any("as in neither order" in problem.why for problem, _ in result.problems)


def test_what_neither_order_leaves_keeps_its_evidence(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """The store, the history and the schedule."""
    result, *_ = play(*look_then_take(faulty, tmp_path), against="a claim of the same task")
    problem, history = result.problems[0]
    assert history.exists()
    assert (history.parent / "store").is_dir()
    assert "held before" in (history.parent / "point.txt").read_text()
    assert "held before" in problem.point


def test_a_lock_that_its_holder_removes_is_found_where_a_waiter_stands_still_twice(
    tmp_path: Path, faulty: Callable[[str], str]
) -> None:
    """It has the lock of a file that is gone, and another has the lock of a new file; the reference waits there."""
    peer, place = "an export, a publish, and an export later", parse("2:hold:then:10")
    for bus, is_right in ((reference("worker"), True), (faulty("worker/removes_the_exports_lock"), False)):
        (result,) = play_one(bus, tmp_path, "export_to_jsonl", peer, place)
        assert result.twice == result.points
        assert result.waited == (result.points if is_right else 0)
        assert any("doubled" in line for line in whys([result])) is not is_right


def test_two_that_clear_up_after_a_third_are_found_where_both_stand_still(
    tmp_path: Path, faulty: Callable[[str], str]
) -> None:
    """Each saw the dead one's lock: with one preemption there are two orders, with two of them both export at once."""
    spec, against = faulty("worker/breaks_a_stale_lock"), "the same by another, after a death in it"
    once = play_one(spec, tmp_path / "once", "export_to_jsonl", against, parse("2:hold"))
    both = play_one(spec, tmp_path / "both", "export_to_jsonl", against, parse("2:hold:7"))
    assert whys(once) == []
    assert any("doubled: seq" in problem for problem in whys(both))


def test_a_late_call_of_who_was_overtaken_is_found_at_one_place(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """It is held before its answer: it has the lease by then, and nobody has told it."""
    against = "a claim after the lease that it got"
    results = play_one(faulty("worker/believes_its_own_claims"), tmp_path, "try_claim_task", against, parse("3:hold"))
    assert any("its late release_claim has an effect" in problem for problem in whys(results))


def test_what_was_held_before_it_asked_for_the_time_goes_by_the_new_one(tmp_path: Path) -> None:
    """Both stand still, time passes, the victim is first: an order that there is only then. The reference has it."""
    against = "a claim after the lease, which ends meanwhile"
    (result,) = results = play_one(reference("worker"), tmp_path, "renew_claim", against, parse("1:hold:1"))
    assert (whys(results), result.points) == ([], 1)


def test_no_time_passes_for_a_bus_whose_clock_cannot_be_moved_and_the_reason_is_told(tmp_path: Path) -> None:
    """It does not load the library: what it is asked in the middle of a call would have the wrong time."""
    (renew,) = (op for op in SUBJECTS["worker"].repertoire.operations if op.name == "renew_claim")
    bus = reference("worker").replace("exec:", "exec:env -u LD_PRELOAD ", 1)
    with contextlib.closing(Fleet([bus], system="worker")) as fleet:
        holds = Holds(fleet, tmp_path, operations=(renew,), points=1, twice=0, crossed=4)
        results = list(holds.run())
    assert "does not load libfaketime" in (holds.why_no_time_passes or "")
    assert results
    assert not any(result.peer.passes_ms for result in results)


@pytest.mark.parametrize("system", HELD)
def test_no_operation_is_held_against_nothing_and_no_deadline_is_over_for_the_peer_alone(system: str) -> None:
    """An operation that is added tomorrow has a peer; and a call after a lease meets one that comes after it, too."""
    subject = SUBJECTS[system]
    with contextlib.closing(Fleet([reference(system)], system=system)) as fleet:
        playable = [op for op in subject.repertoire.operations if is_playable(subject, op, fleet.hello)]
        pairs = pairs_of(subject, playable, fleet.hello)
    assert {op.name for op, _ in pairs} == {op.name for op in playable}
    late = {(op.name, peer.method, peer.are_both_late) for op, peer in pairs if peer.later_ms > 0}
    assert {(name, method) for name, method, both in late if both} == {pair[:2] for pair in late}
    passing = {(op.name, peer.method) for op, peer in pairs if peer.passes_ms}
    assert {pair[:2] for pair in late} <= passing


@pytest.mark.parametrize("system", HELD)
def test_every_operation_meets_every_call_that_is_made_meanwhile(system: str) -> None:
    """Either by its name among the pairs that somebody thought of, or among those that nobody did; never in both."""
    subject = SUBJECTS[system]
    with contextlib.closing(Fleet([reference(system)], system=system)) as fleet:
        playable = [op for op in subject.repertoire.operations if is_playable(subject, op, fleet.hello)]
        named = {(op.name, peer.name) for op, peer in pairs_of(subject, playable, fleet.hello)}
        others = {(op.name, peer.name) for op, peer in crossed(subject, playable, fleet.hello)}
    once = [op for op in playable if not op.is_at_least_once and not subject.is_alone]
    callers = {op.name for op in once if not (op.is_first or op.options)}
    meetings = {(op.name, caller) for op in once for caller in callers}
    assert {pair for pair in others if pair[1] in callers} == meetings
    assert not named & others


def test_pairs_that_nobody_named_are_drawn_by_the_seed_and_end_as_in_one_of_two_orders(tmp_path: Path) -> None:
    """As many as are asked for, after those that have a name; the same again for the same seed."""
    (heartbeat,) = (op for op in SUBJECTS["worker"].repertoire.operations if op.name == "heartbeat")

    def drawn(seed: int) -> list[PairResult]:
        with contextlib.closing(Fleet([reference("worker")], system="worker")) as fleet:
            return list(Holds(fleet, tmp_path, operations=(heartbeat,), points=4, twice=1, crossed=3, seed=seed).run())

    once = drawn(1)
    others = [result.peer.name for result in once if result.peer.is_crossed]
    assert (whys(once), len(others)) == ([], 3)
    assert [result.peer.name for result in once][-3:] == others
    assert others == [result.peer.name for result in drawn(1)][-3:] != [result.peer.name for result in drawn(2)][-3:]


def test_an_acknowledgement_that_looks_before_it_sets_is_found_by_one_of_less(
    tmp_path: Path, faulty: Callable[[str], str]
) -> None:
    """Two processes of one agent: alone, neither ever goes back."""
    results = play_one(faulty("worker/acks_in_two_steps"), tmp_path, "ack", "an earlier ack", parse("7:hold"))
    assert any("last_acked_seq 7 became 6" in problem for problem in whys(results))


def test_an_archive_that_looked_before_it_had_the_lock_takes_what_a_newcomer_was_shown(
    tmp_path: Path, faulty: Callable[[str], str]
) -> None:
    """The peer's earlier answer tells it: state and last answer are those of an archive that came first."""
    peer = "a first ack, a poll, and a poll later"
    results = play_one(faulty("worker/archives_by_an_old_look"), tmp_path, "archive", peer, parse("2:hold"))
    assert any("as in neither order" in problem for problem in whys(results))


@pytest.mark.nightly
@pytest.mark.parametrize("system", HELD)
def test_every_pair_that_nobody_named_ends_as_in_one_of_two_orders(system: str, tmp_path: Path) -> None:
    """All of them, at a few places each."""
    with contextlib.closing(Fleet([reference(system)], system=system)) as fleet:
        holds = Holds(
            fleet, tmp_path, judge=lambda events: judge.of_events(events).problems, points=4, twice=0, crossed=1_000
        )
        results = list(holds.run())
        every = crossed(SUBJECTS[system], SUBJECTS[system].repertoire.operations, fleet.hello)
    assert whys(results) == []
    assert sum(result.peer.is_crossed for result in results) == len(every)
    assert bool(every) is not SUBJECTS[system].is_alone


def test_a_peer_is_held_against_operations_that_there_are() -> None:
    """A name that was changed would leave its pair out in silence."""
    for system in HELD:
        names = {op.name for op in SUBJECTS[system].repertoire.operations}
        assert {name for peer in SUBJECTS[system].repertoire.peers for name in peer.against} <= names


@pytest.mark.parametrize(
    ("calls", "is_one"),
    [
        ([("rename", "lock", None)] * 24, True),
        ([("openat", "lock/pid", None), ("mkdir", "lock", None)] * 12, True),
        ([("rename", "lock", None)] * 23, False),
        ([("mkdir", "roster", None), ("mkdir", "inboxes", None)] * 7, False),  # agent-bus-team 0.7.0 sends so
        ([("write", "log", 9)] * 40, False),
        ([("unlink", f"{number}", None) for number in range(40)], False),
    ],
)
def test_who_makes_the_same_few_calls_again_and_again_waits(
    calls: list[tuple[str, str, int | None]], is_one: bool
) -> None:
    """However it naps in between, as Node does in a call in which no other program sleeps; a writer is not waiting."""
    assert duet._goes_in_a_circle([Change(n, *call) for n, call in enumerate(calls, 1)]) is is_one


@pytest.mark.parametrize("attempt", ["A", "AB", "AAB", "BAA", "AAA", "ABCA"])
def test_how_often_a_peer_tried_makes_no_other_places(attempt: str) -> None:
    """On a busier machine it tries less often until it is seen to wait."""

    def reached(times: int) -> list[str]:
        calls = [Change(n, name, "log", None) for n, name in enumerate("PQ" + attempt * times, 1)]
        return [change.call for change in duet.until_it_repeats(calls)]

    assert reached(1) == reached(2) == reached(7)
    assert reached(1)[:3] == ["P", "Q", attempt[0]]
    writes = [Change(n, "write", "log", 9) for n in range(5)]
    assert duet.until_it_repeats(writes) == writes
