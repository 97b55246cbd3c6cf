"""Compact streams hold the facts of a history, however it comes, and however little is held in memory."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from spark_checks.tests.damage import Events, events_of

from busproof.contract.history import HistoryError, merge, read
from busproof.oracle.checks import Facts, extract
from busproof.systems import SYSTEMS
from busspark import compact as compacting
from busspark import twin
from busspark.compact import compact, runs_of
from busspark.sources import histories
from busspark.twin import facts_of

Recorded = Callable[[str], Path]


def facts_in(folder: Path, system: str) -> Facts:
    """The facts of the one run, without those about the files."""
    (run,) = runs_of(folder, system)
    facts = facts_of(folder, system, [run])[run]
    facts.about = []
    return facts


def parts_of(path: Path, folder: Path) -> list[Path]:
    """The run as it was recorded: one file per process, each whole, one of them packed by gzip and one by zstd."""
    events = events_of(path)
    header, footer = events[0], events[-1]
    parts = []
    for process in sorted({event["process"] for event in events[1:-1]}):
        body: Events = [header, *(event for event in events[1:-1] if event["process"] == process)]
        states = sum(event["type"] == "state" for event in body)
        body.append({**footer, "value": {"events": len(body), "states": states}})
        text = "".join(json.dumps({**event, "index": n}) + "\n" for n, event in enumerate(body)).encode()
        ending, packed = [("", text), (".gz", gzip.compress(text)), (".zst", zstd.compress(text))][len(parts) % 3]
        parts.append(folder / f"part-{process}.jsonl{ending}")
        parts[-1].write_bytes(packed)
    return parts


@pytest.mark.parametrize("system", ["worker", "comms", "timeline", "topics"])
def test_they_are_what_the_checks_take_from_the_history(
    recorded: Recorded, tmp_path: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With seven rows held at a time, too."""
    expected = extract(read(recorded(system)), SYSTEMS[system].facts)
    expected.about = []
    compact([recorded(system)], tmp_path / "a")
    assert facts_in(tmp_path / "a", system) == expected
    monkeypatch.setattr(compacting, "ROWS_HELD", 7)
    compact([recorded(system)], tmp_path / "b")
    assert facts_in(tmp_path / "b", system) == expected


def test_parts_are_put_together_as_merge_does(recorded: Recorded, tmp_path: Path) -> None:
    """Of the three packings, found by a pattern."""
    folder = tmp_path / "parts"
    folder.mkdir()
    parts = parts_of(recorded("worker"), folder)
    merge(parts, tmp_path / "merged.jsonl")
    compact([tmp_path / "merged.jsonl"], tmp_path / "a")
    paths = histories([str(folder / "*")])
    assert sorted(paths) == sorted(parts)
    (about,) = compact(paths, tmp_path / "b")
    assert (about.damage, about.is_whole) == ("", True)
    assert facts_in(tmp_path / "b", "worker") == facts_in(tmp_path / "a", "worker")


def test_a_part_that_lacks_a_line_damages_the_run(recorded: Recorded, tmp_path: Path) -> None:
    """It is told which line."""
    damaged, *others = parts_of(recorded("worker"), tmp_path)
    lines = damaged.read_text().splitlines(keepends=True)
    damaged.write_text("".join(lines[:4] + lines[5:]))
    (about,) = compact([damaged, *others], tmp_path / "streams")
    assert about.damage.startswith("line 5:")


def test_two_runs_of_one_name_are_not_judged_as_one(recorded: Recorded, tmp_path: Path) -> None:
    """Of one seed, say, or a history and its copy: their processes have the same numbers."""
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(recorded("worker").read_bytes())
    (about,) = compact([recorded("worker"), copy], tmp_path / "streams")
    assert "two runs of one name" in about.damage and str(copy) in about.damage
    (verdicts,) = dict(twin.judge(tmp_path / "streams")).values()
    assert {verdict.verdict for verdict in verdicts} == {"unknown"}


def test_what_names_no_history_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """An empty folder, a pattern of nothing, a file of something else."""
    for path in (tmp_path, tmp_path / "*.jsonl"):
        with pytest.raises(HistoryError, match="no history"):
            histories([str(path)])
    (tmp_path / "other.jsonl").write_text('{"this is": "no event"}\n')
    with pytest.raises(HistoryError, match="is no history: its first line: Object missing required field `index`"):
        compact([tmp_path / "other.jsonl"], tmp_path / "streams")


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("zst", zstd.compress)])
def test_a_packed_file_that_was_cut_is_damaged(
    recorded: Recorded, tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    """The line where it ends is named."""
    packed = pack(recorded("worker").read_bytes())
    path = tmp_path / f"history.jsonl.{ending}"
    path.write_bytes(packed[: len(packed) // 2])
    (about,) = compact([path], tmp_path / "streams")
    assert re.match(r"line \d+ is no event: the packed file is cut or damaged here", about.damage)


def test_two_runs_of_one_name_are_told_from_parts_of_one(recorded: Recorded, tmp_path: Path) -> None:
    """Each has a final state of its own, though they share no process."""
    events = events_of(recorded("worker"))
    other = [{**event, "process": event["process"] + (event["process"] >= 0) * 100} for event in events]
    paths = []
    for name, lines in (("a", events), ("b", other)):
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    (about,) = compact(paths, tmp_path / "streams")
    assert about.damage.endswith("two runs of one name, to be audited apart")


def test_a_report_in_a_folder_of_histories_is_passed_over(
    recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named; a history whose first line is damaged is not taken for one."""
    for name, text in (("report", '{"id": "worker.log.01"}\n'), ("damaged", '{"index": 0, "process": -1}\n')):
        (tmp_path / f"{name}.jsonl").write_text(text)
    (tmp_path / "whole.jsonl").write_bytes(recorded("worker").read_bytes())
    assert [path.stem for path in histories([str(tmp_path)])] == ["damaged", "whole"]
    assert "report.jsonl is no history, and is passed over" in capsys.readouterr().err


def test_half_a_surrogate_in_one_run_stops_no_other(recorded: Recorded, tmp_path: Path) -> None:
    """Wherever it stands."""
    events = events_of(recorded("worker"))
    columns = {"agent": "\udfff", "key": "\ud800"}
    odd = [{**event, "run": "\ud800", **(columns if event["type"] == "invoke" else {})} for event in events]
    path = tmp_path / "odd.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in odd))
    assert len(compact([path, recorded("worker")], tmp_path / "streams")) == 2


def test_streams_of_another_format_are_made_anew(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts that they lack would be missed."""
    monkeypatch.setattr(compacting, "FORMAT", 1)
    compact([recorded("topics")], tmp_path)
    monkeypatch.undo()
    with pytest.raises(HistoryError, match="made by another version"):
        runs_of(tmp_path, "topics")
