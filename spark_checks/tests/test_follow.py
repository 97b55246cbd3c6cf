"""`busproof audit --follow`: a violation is told once it is written, and a new start finds all again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from busproof.oracle.checks import overall
from busspark.cli import main
from busspark.follow import follow


def broken(path: Path) -> tuple[list[str], int]:
    """The lines of a history in which an ack goes back, and the line that says so."""
    lines = path.read_text().splitlines(keepends=True)
    acks = [n for n, line in enumerate(lines) if '"op":"ack"' in line and '"type":"ok"' in line]
    of_one: dict[str, list[int]] = {}
    for place in acks:
        of_one.setdefault(json.loads(lines[place])["agent"], []).append(place)
    place = max(of_one.values(), key=len)[-1]
    event = json.loads(lines[place])
    event["value"]["last_acked_seq"] = 0
    lines[place] = json.dumps(event) + "\n"
    return lines, place


def test_a_violation_is_told_when_it_is_written_and_once(
    recorded: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file grows while it is looked at: nothing, half a line, up to the lie, a line more, to the end."""
    lines, lie = broken(recorded("worker"))
    path = tmp_path / "growing.jsonl"
    steps = [
        "",
        "".join(lines[:9]) + lines[9][:7],
        "".join(lines[: lie + 1]),
        "".join(lines[: lie + 2]),
        "".join(lines),
    ]
    counts: list[int] = []

    def wait(seconds: float) -> None:
        counts.append(capsys.readouterr().out.count("ack_went_back"))
        path.write_text(steps[len(counts) - 1])

    verdicts = follow(path, wait)
    assert counts == [0, 0, 0, 1, 0]
    assert capsys.readouterr().out.count("ack_went_back") == 0
    assert overall(verdicts) == "invalid"
    assert main(["--follow", str(path)]) == 1
    assert capsys.readouterr().out.count("ack_went_back") == 1


def test_a_sound_history_is_valid_when_its_last_line_has_come(recorded: Callable[[str], Path]) -> None:
    """And nobody waits for more."""
    assert main(["--follow", str(recorded("worker"))]) == 0


def test_whoever_stops_it_is_told_what_is_known(recorded: Callable[[str], Path], tmp_path: Path) -> None:
    """On a part, the verdict is no more than unknown."""
    path = tmp_path / "part.jsonl"
    path.write_text("".join(recorded("worker").read_text().splitlines(keepends=True)[:100]))

    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    assert overall(follow(path, stop)) == "unknown"
