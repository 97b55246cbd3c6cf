"""Histories of buses with one fault, as authors wrote them who had not seen the checks (evidence `histories`)."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from busproof import evidence
from busproof.contract.history import STATE_OPS, scan
from busproof.oracle.checks import overall
from busproof.systems import run_checks

SCRIPTS = evidence.read("histories").values()


@cache
def _recorded(trial: str, system: str) -> list[dict[str, Any]]:
    """The history that the scripts change; at first its header did not tell that its sessions had no options."""
    events: list[dict[str, Any]] = evidence.record("recorded", f"{trial}.{system}")["events"]
    events[0]["value"]["options"] = {}
    return events


def _changed(line: dict[str, Any]) -> list[dict[str, Any]]:
    script: dict[str, Any] = {}
    exec(line["script"], script)
    events: list[dict[str, Any]] = script["change"](copy.deepcopy(_recorded(line["trial"], line["system"])))
    return events


def _written(events: list[dict[str, Any]], path: Path) -> Path:
    body = [event for event in events if event["type"] != "footer"]
    rows: dict[str, int] = {}
    for event in body:  # a script that takes rows away means the bus's rows, not the file's lines
        if event["type"] == "ok" and event["op"] in STATE_OPS:
            rows = event["value"]["rows"] = dict.fromkeys(event["value"]["rows"], 0)
        elif event["type"] == "state":
            rows[event["key"]] += 1
    states = sum(event["type"] == "state" for event in body)
    footer = {**events[-1], "type": "footer", "process": -1, "value": {"events": len(body), "states": states}}
    path.write_text("".join(json.dumps({**event, "index": n}) + "\n" for n, event in enumerate([*body, footer])))
    return path


@pytest.mark.nightly
@pytest.mark.parametrize("line", [pytest.param(line, id=line["id"]) for line in SCRIPTS])
def test_a_fault_that_was_found_stays_found_and_what_a_sound_bus_may_do_is_valid(
    line: dict[str, Any], tmp_path: Path
) -> None:
    """By the same check and kind. A fault that nothing finds yet is told as such, and is no failure."""
    verdicts = run_checks(scan(_written(_changed(line), tmp_path / "history.jsonl")))
    kinds = sorted({f"{verdict.check}:{witness.kind}" for verdict in verdicts for witness in verdict.witnesses})
    assert kinds == line["found_since"]
    assert overall(verdicts) == ("invalid" if kinds else "valid")
    assert not (kinds and line["innocent"])
