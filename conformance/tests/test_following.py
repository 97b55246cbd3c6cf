"""A fact knows as much of those before it as a search of all of them finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from busproof.oracle.checks.extract import following
from busproof.oracle.checks.extract.following import Following
from busproof.oracle.checks.extract.taking import place
from busproof.oracle.checks.facts import Acked, Appended, Delivered, Fact, Hold, Read

Known = Appended | Acked | Read
READERS = ("a", "b")
_ARGS = (st.integers(0, 200), st.integers(1, 40), st.sampled_from(["ok", "fail"]), st.sampled_from(READERS))


@st.composite
def calls(draw: st.DrawFn) -> list[Known]:
    """As they end; no two ends are one."""
    begun = draw(st.lists(st.tuples(*_ARGS, st.sampled_from([Appended, Acked, Read]), st.integers(1, 9)), max_size=60))
    ends = set[int]()
    facts: list[Known] = []
    for begin, took, outcome, who, kind, seq in begun:
        end = next(end for end in range(begin + took, 10_000) if end not in ends)
        ends.add(end)
        if kind is Appended:
            to = who if seq % 2 else None
            facts.append(Appended("", begin, end, outcome, None, f"m{end}", seq, "x", to, False, None))
        elif kind is Acked:
            facts.append(Acked("", who, begin, end, outcome, seq, seq))
        else:
            facts.append(Read("", who, begin, end, 0, 9, None, False, None, True))
    return sorted(facts, key=lambda fact: fact.end)


def followed(facts: list[Known]) -> None:
    """Let each know those that came before it."""
    after = Following(frozenset({"ack"}))
    list(chain.from_iterable(after.of_call([fact]) for fact in facts))


@st.composite
def answers(draw: st.DrawFn) -> list[tuple[Read, list[Delivered]]]:
    """The answers to two readers that poll, or sync and are told their cursor."""
    reads = []
    seqs = st.sets(st.integers(0, 20), max_size=5).map(sorted)
    for end, (who, rows, after, with_own) in enumerate(
        draw(st.lists(st.tuples(st.sampled_from(READERS), seqs, st.none() | st.integers(0, 20), st.booleans())))
    ):
        read = Read("", who, end, end, len(rows), 9, after, after is not None, None, with_own)
        reads.append((read, [Delivered(end, n, "", seq, "", None, True, None, None) for n, seq in enumerate(rows)]))
    return reads


def told_seqs(facts: list[Known], before: int, to: tuple[str | None, ...] = ("a", "b", None)) -> Iterator[int]:
    """Seqs that had been told before this event."""
    for fact in facts:
        if isinstance(fact, Appended) and fact.outcome == "ok" and fact.end < before and fact.addressee in to:
            assert fact.seq is not None
            yield fact.seq


def acked(facts: list[Known], reader: str, before: int) -> Iterator[int]:
    """The positions that a reader had been told to have acknowledged."""
    for fact in facts:
        if isinstance(fact, Acked) and fact.outcome == "ok" and fact.reader == reader and fact.end < before:
            yield fact.seq


@given(facts=calls())
def test_a_fact_knows_the_greatest_that_was_told_before_it_began(facts: list[Known]) -> None:
    """Even if others overlapped with it."""
    followed(facts)
    for fact in facts:
        if isinstance(fact, Appended):
            assert fact.newest == max(told_seqs(facts, fact.begin), default=None)
            continue
        assert fact.acked == max(acked(facts, fact.reader, fact.begin), default=None)
        if isinstance(fact, Read):
            assert fact.newest == max(told_seqs(facts, fact.begin, (None, fact.reader)), default=None)


@given(facts=calls())
def test_of_what_was_long_ago_it_may_know_more_and_never_less(facts: list[Known]) -> None:
    """As little is kept of each reader as may be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "RAISES_KEPT", 1)
        followed(facts)
    for fact in facts:
        if isinstance(fact, Appended):
            assert (fact.newest or 0) >= max(told_seqs(facts, fact.begin), default=0)
        else:
            assert (fact.acked or 0) >= max(acked(facts, fact.reader, fact.begin), default=0)


def test_a_message_that_is_sent_again_began_with_its_first_attempt() -> None:
    """Nobody answered that one; a seq told between the two may stand above it."""
    lost = Appended("", 1, 2, "info", None, "m", None, "x", None, False, None)
    other = Appended("", 3, 4, "ok", None, "n", 7, "x", None, False, None)
    again = Appended("", 5, 6, "ok", None, "m", 6, "x", None, False, None)
    followed([lost, other, again])
    assert (again.since, again.newest) == (1, None)


@given(played=answers())
def test_what_joins_need_not_be_told_twice(played: list[tuple[Read, list[Delivered]]]) -> None:
    """All that answers were due to show is known from the last of them, and from the places where two do not join."""
    after = Following(frozenset())
    each, joined, last = Counter[int](), Counter[int](), dict[tuple[str, bool], int]()
    for read, rows in played:
        facts: list[Fact] = [read, *rows]
        place(facts)
        list(after.of_call(facts))
        if read.start is None or read.upto is None:
            assert not rows
            continue
        assert all(read.start < (row.seq or 0) <= read.upto for row in rows)
        each.update(range(read.start + 1, read.upto + 1))
        last[read.reader, read.with_own] = read.upto
        if read.joined != read.start:
            joined.update(range(0 if read.joined is None else read.joined + 1))
            joined.subtract(range(read.start + 1))
    for upto in last.values():
        joined.update(range(upto + 1))
    assert each == +joined and min(joined.values(), default=0) >= 0


def test_a_release_that_names_its_claim_alone_is_told_the_key_of_that() -> None:
    """And nothing is told of one that no claim is known of; a claim that is over is forgotten."""

    def hold(op: str, holder: str, *, is_final: bool = False) -> Hold:
        lane, key = ("consumer", "message") if op == "claim" else ("", "")
        return Hold(lane, 1, 2, "ok", op, key, holder, True, None, None, 0, 0, is_final)

    following = Following(frozenset(), names_claims=True)
    calls = [hold("claim", "d1"), hold("release", "d1", is_final=True), hold("release", "d1"), hold("release", "d9")]
    holds = [fact for call in calls for fact in following.of_call([call])]
    assert [(fact.op, fact.lane, fact.key) for fact in holds if isinstance(fact, Hold)] == [
        ("claim", "consumer 0", "message"),
        ("release", "consumer 0", "message"),
    ]
