"""The history checks: real histories are valid, each planted fault is found as what it is, and nothing else is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from busproof.checks import CHECKS, overall
from busproof.checks.facts import NEVER, Ack, Facts, Hold, Poll, Publish, Stored, extract
from busproof.fleet import Fleet, reference
from busproof.history import HistoryError, Recorder, merge, read
from busproof.systems import play, run_checks
from busproof.workload.worker import draw


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded workload of the reference."""
    fleet = Fleet([reference("worker")], system="worker")
    try:
        return play(fleet, seed=2, calls=400, into=tmp_path_factory.mktemp("history") / "history.jsonl")
    finally:
        fleet.close()


def test_a_real_history_is_valid(real: Path) -> None:
    """All six checks looked at something."""
    verdicts = run_checks(read(real))
    assert [(v.check, v.verdict) for v in verdicts] == [(name, "valid") for name in CHECKS["worker"]]
    assert all(verdict.counted for verdict in verdicts)


def kinds(facts: Facts) -> set[str]:
    """The kinds of violation that all checks find."""
    return {witness.kind for check in CHECKS["worker"].values() for witness in check(facts).witnesses}


FAULTS: dict[str, Any] = {
    "lost": lambda f: replace(f, stored=f.stored[1:]),
    "row_doubled": lambda f: replace(f, stored=[*f.stored, f.stored[0]]),
    "phantom": lambda f: replace(f, stored=[*f.stored, Stored(10**6, "nobody's", "x", "note")]),
    "seq_changed": lambda f: replace(f, stored=[replace(f.stored[0], seq=10**6), *f.stored[1:]]),
    "id_moved": lambda f: replace(f, publishes=[*f.publishes, replace(_ok(f), seq=10**6)]),
    "seq_doubled": lambda f: replace(f, publishes=[*f.publishes, replace(_ok(f), id="another")]),
    "refused_but_stored": lambda f: replace(
        f,
        publishes=[*f.publishes, Publish(1, 2, "fail", "no", None)],
        stored=[*f.stored, Stored(10**6, "no", None, "t")],
    ),
    "order_reversed": lambda f: replace(f, publishes=[*f.publishes, Publish(10**6, 10**6 + 1, "ok", "late", -1)]),
    "unordered": lambda f: replace(f, polls=[*f.polls, Poll(1, 2, "ada", 9, ((2, None), (1, None)))]),
    "misdelivered": lambda f: replace(f, polls=[*f.polls, Poll(1, 2, "ada", 9, ((1, "bob"),))]),
    "redelivered": lambda f: replace(f, polls=[*f.polls, Poll(NEVER - 2, NEVER - 1, "ada", 9, ((1, None),))]),
    "ack_went_back": lambda f: replace(f, acks=[*f.acks, Ack(NEVER - 2, NEVER - 1, "ok", "ada", 1, 0)]),
    "ack_beyond": lambda f: replace(f, acks=[*f.acks, Ack(1, 2, "ok", "zed", 10**9, None)]),
    "cursor_lost": lambda f: replace(f, cursors={}),
    "stale": lambda f: replace(f, polls=[*f.polls, Poll(NEVER - 2, NEVER - 1, "new", 9, ())]),
    "overlap": lambda f: replace(f, holds=[_hold(1, "a", 1), _hold(3, "b", 2)]),
    "overlap_at_once": lambda f: replace(f, holds=[replace(_hold(1, "a", 1), end=9), _hold(3, "b", 2)]),
    "token_not_rising": lambda f: replace(f, holds=[_hold(1, "a", 5, until=0), _hold(3, "b", 5, until=0)]),
    "renewed_after_retake": lambda f: replace(
        f, holds=[_hold(1, "a", 1, until=0), _hold(3, "b", 2), replace(_hold(5, "a", 1), op="renew_claim", token=None)]
    ),
    "export_doubled": lambda f: replace(f, export=(9, [*_lines(f), _lines(f)[-1]], False)),
    "export_missing": lambda f: replace(f, export=(9, _lines(f)[1:], False)),
    "export_unordered": lambda f: replace(f, export=(9, _lines(f)[::-1], False)),
    "export_torn": lambda f: replace(f, export=(9, _lines(f), True)),
}


def _ok(facts: Facts) -> Publish:
    return next(p for p in facts.publishes if p.outcome == "ok")


def _lines(facts: Facts) -> list[int]:
    assert facts.export is not None
    return facts.export[1]


def _hold(at: int, agent: str, token: int, until: int = 10**15) -> Hold:
    return Hold(at, at + 1, "ok", "try_claim_task", "t", agent, True, token, until, 1)


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_a_planted_fault_is_found_as_what_it_is(real: Path, kind: str) -> None:
    """In a history that is valid without it."""
    facts = extract(read(real))
    assert kinds(facts) == set()
    assert kind.removesuffix("_at_once") in kinds(FAULTS[kind](facts))


def test_a_left_out_message_is_found(real: Path) -> None:
    """Any message out of the middle of any poll."""
    facts = extract(read(real))
    number, poll = next((n, p) for n, p in enumerate(facts.polls) if len(p.delivered) > 2)
    polls = [*facts.polls]
    polls[number] = replace(poll, delivered=poll.delivered[:1] + poll.delivered[2:])
    assert "skipped" in kinds(replace(facts, polls=polls))


def test_a_release_without_an_answer_excuses_a_later_grant() -> None:
    """A claims, its release is lost on the way, B is granted the task: nothing denies that the release came first."""
    release = Hold(3, NEVER, "info", "release_claim", "t", "a", None, None, None, 1)
    assert kinds(Facts(holds=[_hold(1, "a", 1), release, _hold(5, "b", 2)], is_whole=True)) == set()


def test_a_claim_without_an_answer_excuses_a_later_renewal() -> None:
    """B is killed in the middle of its claim, comes back and renews it: nothing denies that it was granted."""
    release = replace(_hold(3, "a", 1), op="release_claim")
    claim = replace(_hold(5, "b", 2), outcome="info", granted=None, token=None, lease_until_ms=None)
    renewal = replace(_hold(7, "b", 2), op="renew_claim")
    assert kinds(Facts(holds=[_hold(1, "a", 1), release, claim, renewal], is_whole=True)) == set()
    refused = replace(claim, outcome="fail")
    found = kinds(Facts(holds=[_hold(1, "a", 1), release, refused, renewal], is_whole=True))
    assert found == {"renewed_after_retake"}


@given(st.permutations(range(6)), st.data())
def test_publishes_that_overlap_in_time_may_get_any_seq(order: list[int], data: st.DataObject) -> None:
    """All begin before any returns: every order of seq is possible, and no order is a violation."""
    ends = data.draw(st.permutations(range(10, 16)))
    publishes = [Publish(n, ends[n], "ok", f"m{n}", seq) for n, seq in enumerate(order)]
    assert CHECKS["worker"]["log_order"](Facts(publishes=publishes, is_whole=True)).witnesses == []


@given(st.permutations(range(5)))
def test_publishes_one_after_the_other_must_rise(order: list[int]) -> None:
    """Valid exactly if the seqs are in order."""
    publishes = [Publish(2 * n, 2 * n + 1, "ok", f"m{n}", seq) for n, seq in enumerate(order)]
    verdict = CHECKS["worker"]["log_order"](Facts(publishes=publishes, is_whole=True))
    assert (verdict.verdict == "valid") == (list(order) == sorted(order))


def test_a_history_without_its_end_is_unknown_unless_it_is_invalid(real: Path, tmp_path: Path) -> None:
    """Cut before the dump and the footer, in the middle of a line."""
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(real.read_bytes()[: real.stat().st_size // 2])
    assert overall(run_checks(read(cut))) == "unknown"


def test_what_is_no_event_is_named_by_its_line(tmp_path: Path) -> None:
    """File and line stand in the error."""
    (tmp_path / "h.jsonl").write_text('{"index": 0}\n')
    with pytest.raises(HistoryError, match=r"h\.jsonl:1: not an event"):
        list(read(tmp_path / "h.jsonl"))


def test_files_recorded_side_by_side_merge_in_the_order_of_time(tmp_path: Path) -> None:
    """Indexes are given anew; the footer is there only if every part had one."""
    recorders = [Recorder(tmp_path / f"{n}.jsonl", run="r", system="worker") for n in range(2)]
    for number in range(6):
        recorders[number % 2].record("invoke", process=number % 2, op="poll", value=number)
    for recorder in recorders:
        recorder.close()
    merge([tmp_path / "0.jsonl", tmp_path / "1.jsonl"], tmp_path / "all.jsonl")
    events = list(read(tmp_path / "all.jsonl"))
    assert [event.value for event in events if event.type == "invoke"] == [0, 1, 2, 3, 4, 5]
    assert [event.index for event in events] == list(range(8))
    assert events[-1].type == "footer"


def test_the_same_seed_draws_the_same_plan() -> None:
    """And another seed another one."""
    nouns = {"lease", "export", "publish_many"}
    assert draw(1, 200, nouns) == draw(1, 200, nouns)
    assert draw(1, 200, nouns) != draw(2, 200, nouns)
