"""The history checks: real histories are valid, each planted fault is found for what it is, and nothing else is."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from busproof.bus.fleet import Fleet, reference
from busproof.bus.session import Session
from busproof.contract.history import Recorder, read, scan
from busproof.oracle.checks import Facts, extract, order, overall
from busproof.oracle.checks.calls import NEVER
from busproof.oracle.checks.facts import (
    About,
    Acked,
    Appended,
    Delivered,
    Exported,
    Failed,
    Hold,
    Jump,
    Position,
    Reached,
    Read,
    Stored,
)
from busproof.play.workload.worker import draw
from busproof.systems import SYSTEMS, play, run_checks

CALLS = {"worker": 400, "comms": 600, "topics": 300}
FAR = 10**6
LAST = NEVER - 2


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A workload of each reference, played once."""

    @cache
    def history(system: str) -> Path:
        into = tmp_path_factory.mktemp("history") / f"{system}.jsonl"
        with contextlib.closing(Fleet([reference(system)], system=system)) as fleet:
            return play(fleet, seed=2, calls=CALLS[system], into=into)

    return history


def test_whom_a_message_is_for_is_known_from_its_sending(recorded: Callable[[str], Path]) -> None:
    """It is the one that the final state tells."""
    facts = extract(read(recorded("worker")), SYSTEMS["worker"].facts)
    stored = {row.id: row.addressee for row in facts.stored}
    sent = {fact.id: fact.addressee for fact in facts.appended if fact.outcome == "ok" and fact.id in stored}
    assert sent == {id_: stored[id_] for id_ in sent}
    assert {None} < set(sent.values())


def archived(tmp_path: Path, *, leaves_out: int | None = None) -> list[tuple[str, str, int]]:
    """What is found where four are published, bob reads all, they are archived, and a newcomer comes with a fifth.

    Carol has held a place from the beginning, below all; `leaves_out` is a seq that the history of her poll lacks.
    """
    path = tmp_path / "history.jsonl"
    (tmp_path / "store").mkdir()
    with contextlib.closing(Fleet([reference("worker")], system="worker")) as fleet:
        recorder = Recorder(path, run="r", system="worker")
        session = Session(fleet.door(0, tmp_path / "store", {}), recorder, process=0, agent="alice")
        for n in range(4):
            session.call("publish", message={"id": f"m{n}", "type": "note", "to": "bob" if n < 2 else None})
        if leaves_out is not None:
            session.call("ack", agent_id="carol", seq=0)
        session.call("poll", agent_id="bob")
        session.call("ack", agent_id="bob", seq=4)
        session.call("archive")
        session.call("publish", message={"id": "m4", "type": "note"})
        for agent in ("bob", "newcomer", "carol"):
            session.call("poll", agent_id=agent)
        session.call("dump")
        fleet.give_back(session.door, retired=False)
        recorder.close()
    events = list(read(path))
    if leaves_out is not None:
        answer = next(e for e in events if e.type == "ok" and e.op == "poll" and e.agent == "carol")
        answer.value["messages"] = [row for row in answer.value["messages"] if row["seq"] != leaves_out]
    verdicts = run_checks(events)
    return [(v.check, w.kind, w.a) for v in verdicts for w in v.witnesses]


def test_a_newcomer_is_not_owed_what_was_archived_before_it_came(tmp_path: Path) -> None:
    """No poll passed over anything: it was gone."""
    assert archived(tmp_path) == []


def test_a_reader_that_held_its_place_is_owed_everything_above(tmp_path: Path) -> None:
    """An archive takes nothing from it."""
    assert archived(tmp_path, leaves_out=3) == [("polls", "skipped", 3)]


@pytest.mark.parametrize("system", CALLS)
def test_a_real_history_is_valid(recorded: Callable[[str], Path], system: str) -> None:
    """Every check looked at something."""
    verdicts = run_checks(scan(recorded(system)))
    assert [(v.check, v.verdict) for v in verdicts] == [
        (name, "valid") for name in ("integrity", *SYSTEMS[system].checks)
    ]
    assert all(verdict.counted for verdict in verdicts)


def kinds(system: str, facts: Facts) -> set[str]:
    """The kinds of violation that all checks find."""
    return {witness.kind for check in SYSTEMS[system].checks.values() for witness in check(facts).witnesses}


Change = Callable[[Facts], Facts]


def appended(facts: Facts, **changes: object) -> Facts:
    """The first acknowledged message once more, with changes."""
    first = next(fact for fact in facts.appended if fact.outcome == "ok")
    return replace(facts, appended=[*facts.appended, replace(first, **changes)])


def attempt(end: int, outcome: str, id_: str | None, seq: int | None = None) -> Appended:
    """An attempt by nobody else."""
    return Appended("", end - 1, end, outcome, None, id_, seq, "ada", None, id_ is None, None)


def stored(facts: Facts, **changes: object) -> Facts:
    """The first row of the final state with changes."""
    return replace(facts, stored=[replace(facts.stored[0], **changes), *facts.stored[1:]])


def row(id_: str) -> Stored:
    """A row that is of no attempt."""
    return Stored("", None, id_, FAR, None, None, False, False)


def polled(facts: Facts, reader: str, *rows: tuple[int, str | None], begin: int = LAST - 1) -> Facts:
    """One more poll, with (seq, addressee)."""
    read_ = Read("", reader, begin, begin + 1, len(rows), 9, None, False, None, True)
    shown = [
        Delivered(read_.end, place, None, seq, None, addressee, True, None, None)
        for place, (seq, addressee) in enumerate(rows)
    ]
    return replace(facts, reads=[*facts.reads, read_], delivered=[*facts.delivered, *shown])


def delivered(facts: Facts, **changes: object) -> Facts:
    """The first delivered message with changes."""
    return replace(facts, delivered=[replace(facts.delivered[0], **changes), *facts.delivered[1:]])


def acked(facts: Facts, reader: str, seq: int, answer: int | None) -> Facts:
    """One more acknowledgement at the very end."""
    return replace(facts, acked=[*facts.acked, Acked("", reader, LAST, LAST + 1, "ok", seq, answer)])


def exported(facts: Facts, seqs: Callable[[list[int]], list[int]]) -> Facts:
    """The export with other lines."""
    lines = seqs([line.seq for line in facts.exported])
    return replace(facts, exported=[Exported(place, seq) for place, seq in enumerate(lines)])


WORKER_FAULTS: dict[str, Change] = {
    "lost": lambda f: replace(f, stored=f.stored[1:]),
    "row_doubled": lambda f: replace(f, stored=[*f.stored, f.stored[0]]),
    "phantom": lambda f: replace(f, stored=[*f.stored, row("nobody's")]),
    "seq_changed": lambda f: stored(f, seq=FAR),
    "id_moved": lambda f: appended(f, seq=FAR),
    "seq_doubled": lambda f: appended(f, id="another"),
    "id_given_twice": lambda f: appended(f, is_new=True, begin=LAST, end=LAST + 1),
    "refused_but_stored": lambda f: replace(
        f, appended=[*f.appended, attempt(2, "fail", "no")], stored=[*f.stored, row("no")]
    ),
    "order_reversed": lambda f: replace(f, appended=[*f.appended, attempt(FAR, "ok", "late", -1)]),
    "unordered": lambda f: polled(f, "ada", (2, None), (1, None)),
    "misdelivered": lambda f: polled(f, "ada", (1, "bob")),
    "delivered_otherwise": lambda f: delivered(f, id="another"),
    "over_limit": lambda f: replace(f, reads=[replace(f.reads[0], limit=-1), *f.reads[1:]]),
    "redelivered": lambda f: polled(f, "ada", (1, None)),
    "stale": lambda f: polled(f, "new"),
    "ack_went_back": lambda f: acked(f, "ada", 1, 0),
    "ack_beyond": lambda f: acked(f, "zed", FAR, None),
    "cursor_ahead": lambda f: acked(f, "zed", 1, 2),
    "cursor_lost": lambda f: replace(f, positions=[]),
    "export_doubled": lambda f: exported(f, lambda lines: [*lines, lines[-1]]),
    "export_missing": lambda f: exported(f, lambda lines: lines[1:]),
    "export_unordered": lambda f: exported(f, lambda lines: lines[::-1]),
    "export_of_nothing": lambda f: exported(f, lambda lines: [*lines, FAR]),
    "export_went_back": lambda f: replace(f, reached=[Reached(1, 2, 9), Reached(3, 4, 8)]),
    "export_torn": lambda f: replace(f, exports=[replace(f.exports[0], torn=True)]),
}


def _least_tried(facts: Facts) -> Stored:
    """The message that was claimed, and failed, the fewest times."""
    tried = Counter(fact.key for fact in [*facts.holds, *facts.failed, *facts.redriven])
    return min(facts.stored, key=lambda kept: tried[kept.id])


COMMS_FAULTS: dict[str, Change] = {
    "lost": lambda f: replace(f, stored=[kept for kept in f.stored if kept.id != f.appended[0].id]),
    "phantom": lambda f: replace(f, stored=[*f.stored, row("nobody's")]),
    "refused_but_stored": lambda f: replace(
        f, appended=[*f.appended, attempt(2, "fail", "no")], stored=[*f.stored, row("no")]
    ),
    "id_given_twice": lambda f: appended(f, begin=LAST, end=LAST + 1),
    "received_from_nobody": lambda f: delivered(f, id="nobody's"),
    "received_twice": lambda f: replace(f, delivered=[*f.delivered, replace(f.delivered[0], place=FAR, priority=0)]),
    "misreceived": lambda f: delivered(f, addressee="another"),
    "channel_not_asked": lambda f: delivered(f, is_asked=False),
    "over_limit": lambda f: replace(f, reads=[replace(f.reads[0], limit=-1), *f.reads[1:]]),
    "out_of_order": lambda f: replace(f, delivered=[replace(kept, priority=kept.place) for kept in f.delivered]),
    "overlap": lambda f: replace(f, holds=[*f.holds, *(replace(h, begin=LAST, end=LAST + 1) for h in _claims(f))]),
    "claimed_by_another": lambda f: replace(f, holds=[replace(h, holder="x", lane="x") for h in f.holds]),
    "claimed_after_done": lambda f: replace(f, holds=[*f.holds, *(replace(h, begin=LAST) for h in _claims(f))]),
    "released_not_held": lambda f: replace(f, holds=[h for h in f.holds if h not in _claims(f)]),
    "buried_too_early": lambda f: replace(f, stored=[*f.stored, replace(_least_tried(f), is_dead=True)]),
    "not_buried": lambda f: replace(f, stored=[kept for kept in f.stored if not kept.is_dead]),
}
TOPICS_FAULTS: dict[str, Change] = {
    "gap": lambda f: stored(f, seq=FAR),
    "row_doubled": lambda f: replace(f, stored=[*f.stored, replace(f.stored[0], id="another")]),
    "phantom": lambda f: replace(f, stored=[*f.stored, replace(f.stored[0], name=None, id="nobody's", seq=FAR)]),
    "delivered_otherwise": lambda f: delivered(f, id="another"),
    "own_message": lambda f: delivered(f, sender=next(r.reader for r in f.reads if r.end == f.delivered[0].end)),
    "redelivered": lambda f: delivered(f, seq=-1),
    "cursor_beyond": lambda f: replace(f, reads=[replace(f.reads[0], after=FAR), *f.reads[1:]]),
    "cursor_moved": lambda f: replace(f, reads=[replace(r, after=0) if not r.is_moving else r for r in f.reads]),
}
FAULTS = {"worker": WORKER_FAULTS, "comms": COMMS_FAULTS, "topics": TOPICS_FAULTS}


def _claims(facts: Facts) -> list[Hold]:
    return [hold for hold in facts.holds if hold.op == "claim" and hold.granted]


@pytest.mark.parametrize(("system", "kind"), [(system, kind) for system in FAULTS for kind in FAULTS[system]])
def test_a_planted_fault_is_found_as_what_it_is(recorded: Callable[[str], Path], system: str, kind: str) -> None:
    """In a history that is valid without it."""
    facts = extract(read(recorded(system)), SYSTEMS[system].facts)
    assert kinds(system, facts) == set()
    assert kind in kinds(system, FAULTS[system][kind](facts))


def test_a_left_out_message_is_found(recorded: Callable[[str], Path]) -> None:
    """Any message out of the middle of any poll, and of any sync."""
    for system in ("worker", "topics"):
        facts = extract(read(recorded(system)), SYSTEMS[system].facts)
        end = next(fact.end for fact in facts.reads if fact.rows > 2)
        left = [kept for kept in facts.delivered if (kept.end, kept.place) != (end, 1)]
        assert "skipped" in kinds(system, replace(facts, delivered=left))


# -- names, addressees and unknown facts


def test_a_refused_send_under_anothers_id_accuses_no_claimer() -> None:
    """A sends x to b; C's send of x to d is refused, as it must be; b claims x: it is the addressee."""
    sends = [replace(attempt(2, "ok", "x"), addressee="b"), replace(attempt(4, "fail", "x"), addressee="d")]
    claim = Hold("b", 5, 6, "ok", "claim", "x", "b", True, 1, 10**15, 1, 1, False)
    assert kinds("comms", Facts(appended=sends, holds=[claim])) == set()
    stolen = replace(claim, lane="d", holder="d")
    assert kinds("comms", Facts(appended=sends, holds=[stolen])) == {"claimed_by_another"}


def test_a_send_without_a_name_whose_answer_was_lost_may_be_any_row() -> None:
    """But not one that its sender named."""
    lost = attempt(2, "info", None)
    known = [About(True, 9, None)]
    assert kinds("comms", Facts(appended=[lost], stored=[row("x")], about=known)) == set()
    named = replace(row("x"), name="somebody's", seq=1)
    assert "phantom" in kinds("topics", Facts(appended=[lost], stored=[named], about=known))


@pytest.mark.parametrize(("lost", "rows"), [(1, 1), (1, 2), (2, 2), (2, 5)])
def test_each_send_whose_answer_was_lost_explains_one_message(lost: int, rows: int) -> None:
    """In the final state and in answers together."""
    sends = [attempt(2 * n + 2, "info", None) for n in range(lost)]
    known, ids = [About(True, 99, None)], [f"x{n}" for n in range(rows)]
    stands = Facts(appended=sends, stored=[row(id_) for id_ in ids], about=known)
    assert kinds("comms", stands) == ({"phantom"} if rows > lost else set())
    shown = Facts(appended=sends, reads=[Read("b", "b", 50, 51, rows, 99, None, False, None, True)], about=known)
    shown.add(*[Delivered(51, place, id_, None, None, None, True, 1, "t") for place, id_ in enumerate(ids)])
    assert kinds("comms", shown) == ({"received_from_nobody"} if rows > lost else set())
    both = replace(shown, stored=[row("another")])
    assert kinds("comms", both) == ({"received_from_nobody"} if rows + 1 > lost else set())


def test_an_unanswered_send_does_not_explain_a_refused_one_that_was_shown() -> None:
    """The refused one has a name of its own."""
    sends = [attempt(2, "info", None), attempt(4, "fail", "x")]
    facts = Facts(appended=sends, reads=[Read("b", "b", 5, 6, 1, 99, None, False, None, True)])
    facts.add(Delivered(6, 0, "x", None, None, None, True, 1, "t"))
    assert kinds("comms", facts) == {"received_from_nobody"}


def test_an_ack_cannot_be_answered_with_what_is_asked_for_later() -> None:
    """Nor with more than its reader had asked for by then."""
    acks = [Acked("", "ada", 1, 2, "ok", 1, 5), Acked("", "ada", 3, 4, "ok", 5, 5)]
    assert "cursor_ahead" in kinds("worker", Facts(acked=acks))
    asked_before = [replace(acks[0], begin=1, end=4), replace(acks[1], begin=2, end=3)]
    assert "cursor_ahead" not in kinds("worker", Facts(acked=asked_before))


def test_a_message_that_nobody_sent_is_named() -> None:
    """By its id: of a bus that numbers nothing, there is no other way to find it."""
    facts = Facts(stored=[row("nobody's")], about=[About(True, 9, None)])
    reasons = [witness.why for check in SYSTEMS["comms"].checks.values() for witness in check(facts).witnesses]
    assert any(why.endswith(": nobody's") for why in reasons)


@given(st.permutations(range(6)), st.data())
def test_appends_that_overlap_in_time_may_get_any_seq(order: list[int], data: st.DataObject) -> None:
    """All begin before any returns: every order of seq is possible, and no order is a violation."""
    ends = data.draw(st.permutations(range(10, 16)))
    sent = [replace(attempt(ends[n], "ok", f"m{n}", seq), begin=n) for n, seq in enumerate(order)]
    assert SYSTEMS["worker"].checks["order"](Facts(appended=sent)).witnesses == []


@given(st.permutations(range(5)), st.permutations(range(5)))
def test_appends_one_after_the_other_must_rise_in_each_lane(seqs: list[int], other: list[int]) -> None:
    """Valid exactly if the seqs of each lane are in order; lanes know nothing of each other."""
    lanes = {"north": seqs, "south": other}
    sent = [
        replace(attempt(4 * n + 2, "ok", f"{lane}{n}", seq), lane=lane)
        for lane, order in lanes.items()
        for n, seq in enumerate(order)
    ]
    verdict = SYSTEMS["worker"].checks["order"](Facts(appended=sent))
    assert (verdict.verdict == "valid") == (seqs == sorted(seqs) and other == sorted(other))


# -- syncs whose answer was lost


def _synced(*steps: tuple[list[int], int] | None) -> Facts:
    """Syncs of alice on a topic with ten messages of bob: (received, cursor); None: the answer was lost."""
    facts = Facts(about=[About(True, 10**4, None)])
    for n, step in enumerate(steps):
        begin, end = 10 * n, 10 * n + 5
        if step is None:
            facts.add(Jump("t", "alice", begin, NEVER, None, is_back=False))
            continue
        seqs, after = step
        facts.add(Read("t", "alice", begin, end, len(seqs), 20, after, True, None, False))
        facts.add(*[Delivered(end, i, f"m{seq}", seq, "bob", None, True, None, None) for i, seq in enumerate(seqs)])
    facts.add(*[Stored("t", None, f"m{seq}", seq, "bob", None, False, False) for seq in range(1, 11)])
    return facts


@pytest.mark.parametrize(
    ("facts", "skipped"),
    [
        (_synced(([1, 2], 2), None, ([5, 6], 6), ([7], 7)), set()),  # 3 and 4 went with the lost answer
        (_synced(([1, 2], 2), None, ([3], 3), ([4], 4)), set()),  # it never happened
        (_synced(([1, 2], 2), None, ([3], 3), ([6], 6)), set()),  # it happened late
        (_synced(([1, 2], 2), None, ([5], 5), ([8], 8)), {6, 7}),  # it happens once
        (_synced(([1, 2], 2), None, ([3, 5], 5)), {4}),  # within one answer nothing goes
        (_synced(([2], 2), None, ([3], 3)), {1}),  # a message left out before it is not its fault
        (_synced(None, None, ([4], 4), ([7], 7), ([9], 9)), {8}),  # two of them explain two gaps
    ],
)
def test_a_lost_answer_explains_one_gap_and_the_reader_is_followed_on(facts: Facts, skipped: set[int]) -> None:
    """A lost sync may still happen at any time, but once."""
    witnesses = SYSTEMS["topics"].checks["syncs"](facts).witnesses
    assert {witness.a for witness in witnesses if witness.kind == "skipped"} == skipped
    assert {witness.kind for witness in witnesses} <= {"skipped"}


def test_a_reset_is_followed_from_where_it_led_and_ends_that_if_its_answer_is_lost() -> None:
    """A message that is asked for again is no redelivery; after a reset of unknown fate any may be asked for."""
    facts = _synced(([1, 2], 2), ([1, 2], 2))
    reset = Jump("t", "alice", 6, 7, 0, is_back=True)
    assert {w.kind for w in SYSTEMS["topics"].checks["syncs"](facts).witnesses} == {"redelivered"}
    assert SYSTEMS["topics"].checks["syncs"](replace(facts, jumps=[reset])).witnesses == []
    lost = replace(reset, end=NEVER, seq=None)
    assert SYSTEMS["topics"].checks["syncs"](replace(facts, jumps=[lost])).witnesses == []


@pytest.mark.parametrize(("after", "is_wrong"), [(4, False), (2, False), (3, True), (1, True)])
def test_an_ack_behind_the_cursor_leaves_it_or_puts_it_back_as_the_bus_chose(after: int, is_wrong: bool) -> None:
    """B5. The next messages follow from there; the cursor may be nowhere else."""
    facts = _synced(([1, 2, 3, 4], 4), ([], after), (list(range(after + 1, 11)), 10))
    facts.reads[1] = replace(facts.reads[1], is_moving=False, ack_through=2)
    witnesses = SYSTEMS["topics"].checks["syncs"](facts).witnesses
    assert {witness.kind for witness in witnesses} == ({"cursor_moved"} if is_wrong else set())


def test_whether_a_claim_that_ran_out_is_a_failure_is_the_bus_s_choice() -> None:
    """C20. Two failures and a claim that nobody completed may bury a message; two failures alone may not."""
    claims = [Hold("b", n, n + 1, "ok", "claim", "x", "b", True, n, n, n, n, False) for n in (10, 20, 30)]
    ends = [replace(claim, op="release", begin=claim.begin + 5, end=claim.end + 5) for claim in claims[:2]]
    failed = [Failed("b", "x", end.begin, True) for end in ends]
    buried = Facts(
        appended=[replace(attempt(2, "ok", "x"), addressee="b")],
        stored=[replace(row("x"), is_dead=True)],
        holds=[*claims, *ends],
        failed=failed,
        about=[About(True, 99, None)],
    )
    check = SYSTEMS["comms"].checks["dead_letters"]
    assert check(buried).witnesses == []
    assert check(replace(buried, stored=[])).witnesses == []
    hurried = check(replace(buried, holds=[*claims[:2], *ends])).witnesses
    assert {witness.kind for witness in hurried} == {"buried_too_early"}


def test_positions_of_a_reader_that_jumped_are_not_judged() -> None:
    """process_loop acknowledges by itself."""
    facts = Facts(positions=[Position("", "ada", 7)], about=[About(True, 9, None)])
    assert kinds("worker", facts) == {"cursor_ahead"}
    jumped = replace(facts, jumps=[Jump("", "ada", 1, 2, None, is_back=False)])
    assert kinds("worker", jumped) == set()


def test_a_history_without_its_end_is_unknown_unless_it_is_invalid(
    recorded: Callable[[str], Path], tmp_path: Path
) -> None:
    """Cut before the final state and the footer, in the middle of a line."""
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(recorded("worker").read_bytes()[: recorded("worker").stat().st_size // 3])
    assert overall(run_checks(scan(cut))) == "unknown"


def test_the_same_seed_draws_the_same_plan() -> None:
    """And another seed another one."""
    nouns = {"lease", "export", "publish_many"}
    assert draw(1, 200, nouns) == draw(1, 200, nouns)
    assert draw(1, 200, nouns) != draw(2, 200, nouns)


def untold(facts: Facts, begin: int, seq: int) -> set[str]:
    """The verdict with one more send, which nobody answered and which stands there in the end."""
    send = replace(attempt(NEVER, "info", "unanswered"), begin=begin)
    rows = [*facts.stored, replace(row("unanswered"), seq=seq)]
    return {w.kind for w in order.check(replace(facts, appended=[*facts.appended, send], stored=rows)).witnesses}


def test_an_unanswered_send_stands_above_what_had_returned_before_it_began(recorded: Callable[[str], Path]) -> None:
    """Below them, it would have its place before it was sent. It may have come late itself, so it blames none."""
    facts = extract(read(recorded("worker")), SYSTEMS["worker"].facts)
    assert untold(facts, LAST, 0) == {"order_reversed"}
    assert untold(facts, 0, 0) == set()
    assert untold(facts, LAST, FAR) == set()
    assert untold(facts, 0, FAR) == set()
