"""Histories of buses with one fault, as authors wrote them who had not seen the checks: docs/blind/histories.md."""

from __future__ import annotations

import copy
import json
import lzma
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from busproof.contract.history import scan
from busproof.oracle.checks import overall
from busproof.systems import run_checks

BLIND = Path(__file__).parents[2] / "docs" / "blind"
LINES = [json.loads(line) for line in (BLIND / "histories.jsonl").read_text().splitlines()]


def of_day_and_night() -> Iterator[Any]:
    """Every third one by day."""
    for number, line in enumerate(LINES):
        marks = [] if number % 3 == 0 else [pytest.mark.nightly]
        yield pytest.param(line, id=f"{line['trial']}-{line['name']}", marks=marks)


@cache
def _recorded(trial: int, system: str) -> list[dict[str, Any]]:
    """The history that the scripts change; at first its header did not tell that its sessions had no options."""
    data = lzma.decompress((BLIND / f"histories-{trial}" / f"{system}.jsonl.xz").read_bytes())
    lines = data.decode().splitlines()
    events = [json.loads(line) for line in lines]
    events[0]["value"]["options"] = {}
    return events


@cache
def _scripts(trial: int) -> dict[str, str]:
    """As their authors wrote them, by name."""
    with tarfile.open(BLIND / f"histories-{trial}" / "scripts.tar.xz") as packed:
        members = {member.name: packed.extractfile(member) for member in packed.getmembers()}
        return {name.removesuffix(".py"): file.read().decode() for name, file in members.items() if file is not None}


def _changed(trial: int, name: str, system: str) -> list[dict[str, Any]]:
    script: dict[str, Any] = {}
    exec(_scripts(trial)[name], script)
    events: list[dict[str, Any]] = script["change"](copy.deepcopy(_recorded(trial, system)))
    return events


def _written(events: list[dict[str, Any]], path: Path) -> Path:
    body = [event for event in events if event["type"] != "footer"]
    states = sum(event["type"] == "state" for event in body)
    footer = {**events[-1], "type": "footer", "process": -1, "value": {"events": len(body), "states": states}}
    path.write_text("".join(json.dumps({**event, "index": n}) + "\n" for n, event in enumerate([*body, footer])))
    return path


@pytest.mark.parametrize("line", list(of_day_and_night()))
def test_a_fault_that_was_found_stays_found_and_what_a_sound_bus_may_do_is_valid(
    line: dict[str, Any], tmp_path: Path
) -> None:
    """By the same check and kind. A fault that nothing finds yet is told as such, and is no failure."""
    verdicts = run_checks(
        scan(_written(_changed(line["trial"], line["name"], line["system"]), tmp_path / "history.jsonl"))
    )
    found = sorted({f"{verdict.check}:{witness.kind}" for verdict in verdicts for witness in verdict.witnesses})
    assert found == line["found_since"]
    assert overall(verdicts) == ("invalid" if found else "valid")
    assert not (found and line["innocent"])


def test_the_page_tells_what_the_lines_tell() -> None:
    """The sums of the table."""
    page = (BLIND / "histories.md").read_text()
    for trial, names in ((1, ("found", "found_since")), (2, ("found_before_trial_1", "found"))):
        lines = [line for line in LINES if line["trial"] == trial]
        faults = [line for line in lines if not line["innocent"]]
        one, other = (sum(bool(line[name]) for line in faults) for name in names)
        assert f"| all | {len(faults)} | {one} | {other} | {len(lines) - len(faults)} | 0 |" in page
