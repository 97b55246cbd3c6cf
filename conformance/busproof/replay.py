"""`busproof replay`: send the calls of a failed row again, and show what comes back."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from busproof.adapters.base import Door, DoorError, Lost
from busproof.fleet import Fleet, reference
from busproof.protocol import CONTRACTS
from busproof.report import lines
from busproof.words import one_line, say


def replay(report_path: Path, row_id: str, bus: str | None) -> int:
    """Exit 0 when the script was played to its end; the reader judges the answers. 2 if it cannot be."""
    try:
        report = lines.load(report_path)
    except lines.ReportError as error:
        print(f"busproof: {error}", file=sys.stderr)
        return 2
    scripts = [row for row in report.rows if row["requirement"] == row_id and row["script"]]
    if not scripts:
        print(f"busproof: {row_id} has no script in {report_path}: only rows that broke have one", file=sys.stderr)
        return 2
    spec = bus or report.header["bus"] or reference(report.header["system"])
    fleet = Fleet([spec], system=report.header["system"])
    folder = Path(tempfile.mkdtemp(prefix="busproof-"))
    (folder / "store").mkdir()
    say(f"{row_id}: {one_line(scripts[0]['why'])}\n")
    try:
        _send(fleet, folder / "store", scripts[0]["script"])
    finally:
        fleet.close()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _send(fleet: Fleet, store: Path, script: list[dict[str, Any]]) -> None:
    doors: dict[Any, Door] = {}
    dead: set[Any] = set()
    for step in script:
        who, method = step.get("process", step.get("agent")), step["method"]
        params = {**step["params"]}
        if who in dead or who not in doors:
            doors[who] = fleet.door(len(doors), store, step.get("options", {}))
            dead.discard(who)
        if method in ("kill", "restart"):
            fleet.give_back(doors[who], retired=method == "kill" or bool(params.get("kill")))
            dead.add(who)
            print(f"{who!s:>4}  {method}")
            continue
        for name in CONTRACTS[fleet.system].callers_of(method) if "agent" in step else ():
            params.setdefault(name, step["agent"])
        try:
            answer = json.dumps(doors[who].call(method, params))
        except DoorError as error:
            answer = f"{type(error).__name__}: {one_line(error)}"
            if isinstance(error, Lost):
                dead.add(who)
        say(f"{who!s:>4}  {method} {json.dumps(params)[:300]}\n      → {answer[:500]}")
    for who, door in doors.items():
        if who not in dead:
            fleet.give_back(door, retired=False)
