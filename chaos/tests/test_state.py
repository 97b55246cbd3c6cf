"""The rules that hold for a store: each kind of damage is found, and a whole store shows none."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from buschaos.state import Evidence, Promise, difference
from buschaos.subjects.worker.state import comparable, problems

ROWS = [
    {"seq": 1, "id": "a", "ts_ms": 5, "payload": json.dumps({"n": 1}), "payload_ref": None},
    {"seq": 2, "id": "b", "ts_ms": 6, "payload": None, "payload_ref": "sha256-b"},
    {"seq": 4, "id": "c", "ts_ms": 7, "payload": None, "payload_ref": None},
]


def whole() -> Evidence:
    """A store with nothing wrong: two messages in the log, one archived, all exported."""
    rows = copy.deepcopy(ROWS)
    return Evidence(
        dump={"messages": rows[1:], "archived": rows[:1], "integrity": "ok"},
        facts={
            "integrity": "ok",
            "log": [[2, "b"], [4, "c"]],
            "blobs": {"sha256-b": "ok"},
            "torn_workers": [],
            "lines": [[1, "a"], [2, "b"], [4, "c"]],
            "bad_lines": [],
        },
        promises=[
            Promise("a", 1, {"id": "a", "payload": {"n": 1}}),
            Promise("b", None, {"id": "b", "payload": "big"}),
            Promise("c", 4, {"id": "c"}),
        ],
        exported=True,
    )


def test_a_whole_store_shows_nothing() -> None:
    """No false alarm."""
    assert problems(whole()) == []


def dump(evidence: Evidence) -> Any:
    """The dump, to be damaged."""
    assert evidence.dump is not None
    return evidence.dump


@pytest.mark.parametrize(
    ("damage", "noun", "says"),
    [
        (lambda e: dump(e)["messages"].pop(), "log", "lost: c"),
        (lambda e: dump(e)["messages"][1].update(seq=5), "log", "moved: c"),
        (lambda e: dump(e)["archived"][0].update(payload="{}"), "log", "changed: a"),
        (lambda e: dump(e)["archived"][0].update(payload=None), "log", "changed: a"),
        (lambda e: dump(e)["archived"][0].update(payload=""), "log", "changed: a"),
        (lambda e: dump(e)["messages"].append(copy.deepcopy(ROWS[0])), "log", "doubled: seq 1"),
        (lambda e: dump(e)["messages"].append(copy.deepcopy(ROWS[0])), "log", "doubled: id a"),
        (lambda e: dump(e).update(integrity="row missing from index"), "log", "integrity_check, asked by the bus"),
        (lambda e: e.facts.update(integrity="malformed"), "log", "integrity_check, asked by SQLite"),
        (lambda e: e.facts.update(log=[[2, "b"]]), "log", "the dump tells another log"),
        (lambda e: e.facts["blobs"].clear(), "blob", "missing: message b"),
        (lambda e: e.facts["blobs"].update({"sha256-x": "corrupt"}), "blob", "torn: the content of blob sha256-x"),
        (lambda e: e.facts["torn_workers"].append("w.json"), "presence", "torn: workers/w.json"),
        (lambda e: e.facts["lines"].pop(), "export", "missing in bus.jsonl"),
        (lambda e: e.facts.update(lines=None), "export", "missing in bus.jsonl"),
        (lambda e: e.facts["lines"].append([4, "c"]), "export", "doubled: seq [4]"),
        (lambda e: e.facts["lines"].append([9, "z"]), "export", "not in the log"),
        (lambda e: e.facts["lines"].reverse(), "export", "not in seq order"),
        (lambda e: e.facts["bad_lines"].append("line 4"), "export", "torn: line 4"),
        (lambda e: e.facts.update(died="signal 7"), "log", "signal 7"),
    ],
)
def test_each_damage_is_found(damage: Callable[[Evidence], None], noun: str, says: str) -> None:
    """Under the noun whose rows it breaks."""
    evidence = whole()
    damage(evidence)
    assert any(problem.noun == noun and says in problem.why for problem in problems(evidence))


def test_an_export_that_lags_is_no_damage() -> None:
    """Unless an export was asked for last."""
    evidence = whole()
    evidence.exported = False
    evidence.facts["lines"].pop()
    assert problems(evidence) == []


def test_without_a_dump_the_files_still_speak() -> None:
    """A torn blob is torn even if the bus can tell nothing."""
    evidence = whole()
    evidence.dump = None
    assert problems(evidence) == []
    evidence.facts["blobs"]["sha256-b"] = "corrupt"
    assert [problem.noun for problem in problems(evidence)] == ["blob"]


def state(seqs: list[int], ids: list[str], cursor: int, now_ms: int = 0) -> dict[str, Any]:
    """A dump with one cursor."""
    rows = [{"seq": s, "id": i, "ts_ms": now_ms, "payload": None} for s, i in zip(seqs, ids, strict=True)]
    return {"messages": rows, "cursors": [{"agent_id": "x", "last_acked_seq": cursor}], "export_last_seq": cursor}


def same(before: dict[str, Any], other: dict[str, Any], clock: str = "manual") -> bool:
    """Are two dumps the same state?"""
    return comparable(before, {"a", "b"}, clock) == comparable(other, {"a", "b"}, clock)


def test_gaps_in_seq_make_no_difference() -> None:
    """W14: a number may be skipped."""
    assert same(state([1, 2], ["a", "b"], 2), state([1, 7], ["a", "b"], 7))
    assert not same(state([1, 2], ["a", "b"], 2), state([1, 7], ["a", "b"], 1))


def test_ids_that_the_bus_chose_make_no_difference() -> None:
    """But those of the script do."""
    assert same(state([1, 2], ["a", "uuid-1"], 0), state([1, 2], ["a", "uuid-2"], 0))
    assert not same(state([1, 2], ["a", "b"], 0), state([1, 2], ["b", "a"], 0))


def test_times_count_only_on_a_manual_clock() -> None:
    """On a wall clock no two runs have the same."""
    assert same(state([1], ["a"], 0, 5), state([1], ["a"], 0, 6), "wall")
    assert not same(state([1], ["a"], 0, 5), state([1], ["a"], 0, 6))


def test_a_difference_is_told_by_table() -> None:
    """The missing rows, and those that are there instead."""
    text = difference({"t": [1, 2], "n": 1}, {"t": [2, 3], "n": 1})
    assert text == "t: missing [1], unexpected [3]"


def test_a_row_that_changed_is_told_by_its_columns() -> None:
    """A reader sees which row it is and which columns differ, not two rows of twenty columns."""
    before = [{"message_id": "ann/1", "status": "archived", "size": 6}, {"message_id": "bob/2", "status": "failed"}]
    after = [{"message_id": "ann/1", "status": "processing", "size": 6}, {"message_id": "bob/2", "status": "failed"}]
    text = difference({"messages": before}, {"messages": after})
    assert text == 'messages: of {"message_id": "ann/1"} status "archived" became "processing"'


def test_a_row_that_stands_once_more_is_told() -> None:
    """As often as it is in excess, and no other row."""
    copy_ = {"agent": "bob", "id": "ann/1"}
    text = difference({"copies": [copy_]}, {"copies": [copy_, copy_, copy_]})
    assert text == f"copies: unexpected {json.dumps([copy_, copy_])}"


def test_rows_in_another_order_are_told_as_such() -> None:
    """If the comparison includes their order."""
    assert difference({"t": [1, 2]}, {"t": [2, 1]}) == "t: the rows stand in another order"
