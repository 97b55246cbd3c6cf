"""The file of a history: a state is rows, damage is unknown with its line, a malformed answer is a violation."""

from __future__ import annotations

import gzip
import io
import json
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from busproof.contract import history
from busproof.contract.history import Broken, Event, HistoryError, Recorder, merge, read, scan
from busproof.systems import run_checks


def recorded(path: Path, *, publishes: int = 3) -> list[str]:
    """A small history of `worker`, with a final state; its lines."""
    with closing(Recorder(path, run="r", system="worker")) as recorder:
        for number in range(1, publishes + 1):
            call = {"process": 1, "op": "publish", "agent": "ada"}
            recorder.record("invoke", **call, value={"message": {"id": f"m{number}"}})
            recorder.record("ok", **call, value={"id": f"m{number}", "seq": number})
        rows = [{"seq": n, "id": f"m{n}", "to_agent": None, "type": "note"} for n in range(1, publishes + 1)]
        recorder.record("invoke", process=1, op="dump")
        recorder.record("ok", process=1, op="dump", value={"messages": rows, "cursors": [], "integrity": "ok"})
    return path.read_text().splitlines(keepends=True)


def test_a_state_is_written_one_row_a_line_and_counted(tmp_path: Path) -> None:
    """No line grows with the log; the answer keeps what is no list, and how long the lists were."""
    lines = recorded(tmp_path / "h.jsonl", publishes=500)
    assert max(map(len, lines)) < 400
    events = list(read(tmp_path / "h.jsonl"))
    (answer,) = [event for event in events if event.op == "dump" and event.type == "ok"]
    assert answer.value == {"integrity": "ok", "rows": {"messages": 500, "cursors": 0}}
    rows = [event for event in events if event.type == "state"]
    assert [(row.key, row.value["seq"], row.index - answer.index) for row in rows] == [
        ("messages", n, n) for n in range(1, 501)
    ]
    assert events[-1].value == {"events": len(events) - 1, "states": 500}
    assert {verdict.verdict for verdict in run_checks(scan(tmp_path / "h.jsonl")) if verdict.counted > 1} == {"valid"}


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda f: [*f[:3], "garbage\n", *f[4:]], "line 4 is no event"),
        (lambda f: f[:3] + f[4:], "line 4: its index is 4"),
        (lambda f: [*f[:4], *f[2:]], "line 5: its index is 2"),
        (lambda f: [f[0].replace('"run":"r"', '"run":"s"'), *f[1:]], "line 2: it is of another run"),
        (lambda f: [*f[:1], f[1].replace("invoke", "nemesis"), *f[2:]], "line 3: it answers no call"),
        (lambda f: [*f[:-1], f[-1].replace('"states":3', '"states":4')], "the footer counts other lines"),
    ],
)
def test_a_damaged_file_is_unknown_with_its_line(
    tmp_path: Path, damage: Callable[[list[str]], list[str]], why: str
) -> None:
    """No check accuses a bus of gaps in the file."""
    path = tmp_path / "h.jsonl"
    path.write_text("".join(damage(recorded(path))))
    integrity, *others = run_checks(scan(path))
    assert (integrity.check, integrity.verdict) == ("integrity", "unknown")
    assert why in integrity.reason
    assert {(verdict.verdict, verdict.reason) for verdict in others} == {("unknown", "the history is damaged")}


@pytest.mark.parametrize(
    ("was", "answered"), [('"seq":2}', '"seq":"2"}'), ('"seq":2}', '"seq":2.5}'), ('"seq":3,"id"', '"xxx":3,"id"')]
)
def test_what_is_no_answer_is_a_violation(tmp_path: Path, was: str, answered: str) -> None:
    """In an answer, or in a row of the final state."""
    path = tmp_path / "h.jsonl"
    text = "".join(recorded(path))
    path.write_text(text.replace(was, answered, 1))
    integrity, *_ = run_checks(scan(path))
    assert (integrity.verdict, [witness.kind for witness in integrity.witnesses]) == ("invalid", ["malformed_answer"])


def test_what_is_no_event_is_named_by_its_line(tmp_path: Path) -> None:
    """`read`, of events alone, raises an error with file and line; `scan` shows the line."""
    path = tmp_path / "h.jsonl"
    path.write_text('{"index": 0}\n' + '{"torn')
    with pytest.raises(HistoryError, match=r"h\.jsonl:1: not an event"):
        list(read(path))
    broken = [line for line in scan(path) if isinstance(line, Broken)]
    assert [(line.line, line.is_last) for line in broken] == [(1, False), (2, True)]
    with pytest.raises(HistoryError, match="this is no history"):
        run_checks(scan(path))


def test_files_recorded_side_by_side_merge_in_the_order_of_time(tmp_path: Path) -> None:
    """Indexes are given anew, rows of a state stay behind their answer; the footer is there if every part had one."""
    recorders = [Recorder(tmp_path / f"{n}.jsonl", run="r", system="worker") for n in range(2)]
    for number in range(6):
        recorders[number % 2].record("invoke", process=number % 2, op="poll", value=number)
    recorders[0].record("invoke", process=3, op="dump")
    recorders[0].record("ok", process=3, op="dump", value={"messages": [{"seq": 1, "id": "a"}, {"seq": 2, "id": "b"}]})
    for recorder in recorders:
        recorder.close()
    merge([tmp_path / "0.jsonl", tmp_path / "1.jsonl"], tmp_path / "all.jsonl")
    events = [event for event in scan(tmp_path / "all.jsonl") if isinstance(event, Event)]
    assert [event.value for event in events if event.type == "invoke" and event.op == "poll"] == [0, 1, 2, 3, 4, 5]
    assert [event.index for event in events] == list(range(len(events)))
    assert [event.type for event in events[-4:]] == ["ok", "state", "state", "footer"]
    integrity, *_ = run_checks(iter(events))
    assert integrity.verdict == "valid"


def test_a_history_of_bad_lines_is_json(tmp_path: Path) -> None:
    """Half surrogates, which bad-input scripts send, come back as they were."""
    with closing(Recorder(tmp_path / "h.jsonl", run="r", system="worker")) as recorder:
        recorder.record("invoke", process=1, op="publish", value={"message": {"id": "\ud800"}})
    assert json.loads((tmp_path / "h.jsonl").read_text().splitlines()[1])["value"]["message"]["id"] == "\ud800"
    assert [event.type for event in read(tmp_path / "h.jsonl")] == ["header", "invoke", "footer"]


def test_a_line_without_an_end_is_refused_and_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a line that is too long, only as much is read as shows that."""
    monkeypatch.setattr(history, "LINE_BYTES_MAX", 100)
    (tmp_path / "h.jsonl").write_bytes(b"{}\n" + b"x" * 1000)
    lines = list(history.unpacked(io.BytesIO(b"{}\n" + b"x" * 1000)))
    assert [len(line) for line in lines[:2] if isinstance(line, bytes)] == [3, 101]
    last = list(scan(tmp_path / "h.jsonl"))[-1]
    assert isinstance(last, Broken)
    assert (last.line, last.is_last) == (2, False)
    assert "longer than" in last.why


def test_a_packed_file_that_was_cut_is_named_with_its_line(tmp_path: Path) -> None:
    """A copy of a log that was growing."""
    with closing(Recorder(tmp_path / "h.jsonl", run="r", system="worker")) as recorder:
        for _ in range(3000):
            recorder.record("invoke", process=1, op="publish", value=uuid.uuid4().hex)
    packed = gzip.compress((tmp_path / "h.jsonl").read_bytes())
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(packed[: len(packed) // 2])
    *_, last = scan(path)
    assert isinstance(last, Broken)
    assert "cut or damaged" in last.why
