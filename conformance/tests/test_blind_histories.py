"""Histories of buses with one fault, as authors wrote them who had not seen the checks: docs/blind/histories.md."""

from __future__ import annotations

import copy
import importlib.util
import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from busproof.checks import overall
from busproof.history import scan
from busproof.systems import run_checks

BLIND = Path(__file__).parents[2] / "docs" / "blind"
LINES = [json.loads(line) for line in (BLIND / "histories.jsonl").read_text().splitlines()]


@cache
def _recorded(system: str) -> list[dict[str, Any]]:
    """The history that the scripts change; its header did not tell yet that its sessions had no options."""
    lines = lzma.decompress((BLIND / "histories" / f"{system}.jsonl.xz").read_bytes()).decode().splitlines()
    events = [json.loads(line) for line in lines]
    events[0]["value"]["options"] = {}
    return events


def _changed(name: str, system: str) -> list[dict[str, Any]]:
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), BLIND / "histories" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    events: list[dict[str, Any]] = script.change(copy.deepcopy(_recorded(system)))
    return events


def _written(events: list[dict[str, Any]], path: Path) -> Path:
    body = [event for event in events if event["type"] != "footer"]
    states = sum(event["type"] == "state" for event in body)
    footer = {**events[-1], "type": "footer", "process": -1, "value": {"events": len(body), "states": states}}
    path.write_text("".join(json.dumps({**event, "index": n}) + "\n" for n, event in enumerate([*body, footer])))
    return path


@pytest.mark.parametrize("line", [pytest.param(line, id=line["name"]) for line in LINES])
def test_a_fault_that_was_found_stays_found_and_what_a_sound_bus_may_do_is_valid(
    line: dict[str, Any], tmp_path: Path
) -> None:
    """By the same check and kind. A fault that nothing finds yet is told as such, and is no failure."""
    verdicts = run_checks(scan(_written(_changed(line["name"], line["system"]), tmp_path / "history.jsonl")))
    found = sorted({f"{verdict.check}:{witness.kind}" for verdict in verdicts for witness in verdict.witnesses})
    assert found == line["found_since"]
    assert overall(verdicts) == ("invalid" if found else "valid")
    assert not (found and line["innocent"])


def test_the_page_tells_what_the_lines_tell() -> None:
    """The sums of the table."""
    faults = [line for line in LINES if not line["innocent"]]
    found, since = (sum(bool(line[name]) for line in faults) for name in ("found", "found_since"))
    row = f"| all | {len(faults)} | {found} | {since} | {len(LINES) - len(faults)} | 0 |"
    assert row in (BLIND / "histories.md").read_text()
