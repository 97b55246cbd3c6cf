"""`busproof replay`: send the calls of a failed row again, and show the answers."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from busproof.bus.base import Door, DoorError, Lost
from busproof.bus.fleet import Fleet, reference
from busproof.contract import CONTRACTS
from busproof.pages.report import lines
from busproof.pages.report.terminal import replay_command
from busproof.play.explore.command import main as explore
from busproof.run.rows import item_names
from busproof.run.runner import run_item
from busproof.words import one_line, say

AGAIN = re.compile(r"play it again(?:, and find the shortest)?: (busproof explore .*)")

SCRIPT = re.compile(r" --script (\S+)")


def replay(report_path: Path, row_id: str, bus: str | None, *, is_trusted: bool = False) -> int:
    """Send the calls, then let the row's check judge the bus anew. Exit 0 if both came to their end; 2 if not.

    A report names a command, and may be a stranger's: the command runs if the caller names it, trusts it or says yes.
    """
    try:
        report = lines.load(report_path)
    except lines.ReportError as error:
        print(f"busproof: {error}", file=sys.stderr)
        return 2
    scripts = [row for row in report.rows if row["requirement"] == row_id and row["script"]]
    again = [command for row in report.rows if row["requirement"] == row_id for command in AGAIN.findall(row["why"])]
    by_script = SCRIPT.search(again[0]) if again else None
    if not scripts and again and not by_script:
        say(f"{row_id} broke in a program of many calls. It plays again, call by call, by:\n  {one_line(again[0])}")
        return 0
    if not scripts and not by_script:
        print(f"busproof: {row_id} has no script in {report_path}: only rows that broke have one", file=sys.stderr)
        return 2
    system = report.header["system"]
    spec = bus or report.header["bus"] or reference(system)
    if not (bus or is_trusted or not report.header["bus"] or _says_yes(spec)):
        return 2
    if not scripts and by_script:
        say(f"{row_id} broke in a script of the corpus:\n  {one_line(again[0])}\n")
        return 2 if explore([system, "--bus", spec, "--script", by_script[1], "--answers"]) == 2 else 0
    fleet = Fleet([spec], system=system)
    folder = Path(tempfile.mkdtemp(prefix="busproof-"))
    (folder / "store").mkdir()
    say(f"{row_id}: {one_line(scripts[0]['why'])}\n")
    if any(step.get("at_once") for step in scripts[0]["script"]):
        forced = one_line(replay_command(scripts[0], report.header))
        say("Calls marked ∥ were under way at once. Here each is sent after the one before: no race, and it may show")
        say(f"nothing. This forces the race as the check did:\n  {forced}\n")
    try:
        _send(fleet, folder / "store", scripts[0]["script"])
        _judge(fleet, scripts[0], report.header)
    finally:
        fleet.close()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _says_yes(spec: str) -> bool:
    """Does the person at the terminal let this command run? Nobody else is asked."""
    say(f"{one_line(spec)}\nThe report names this bus, and replay starts it with your rights.")
    if sys.stdin is None or not sys.stdin.isatty():
        print("busproof: nothing was started; name the bus by --bus, or trust the report by --yes", file=sys.stderr)
        return False
    return input("Start it? [y/N] ").strip().lower() in ("y", "yes")


def _judge(fleet: Fleet, row: dict[str, Any], header: dict[str, Any]) -> None:
    """The calls alone do not say what is wrong with their answers: the check that decided the row does."""
    item = row["check"]
    if item not in item_names(fleet.system) or row["fleet"] == "mixed":
        say(f"\nTo judge it anew:  {one_line(replay_command(row, header))}")
        return
    profile = "nightly" if header.get("nightly") else "pr"
    results = run_item(fleet, item, seed=header.get("seed"), profile=profile)
    for result in results:
        if result.requirement == row["requirement"]:
            say(f"\n{item}, played anew: {result.outcome}{' ' * bool(result.why)}{one_line(result.why)}")


def _send(fleet: Fleet, store: Path, script: list[dict[str, Any]]) -> None:
    doors: dict[Any, Door] = {}
    dead: set[Any] = set()
    ids: dict[str, str] = {}  # the bus's choice then → its choice now
    for step in script:
        who, method = step.get("process", step.get("agent")), step["method"]
        params = _with(ids, step["params"])
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
            reply = doors[who].call(method, params)
            answer = json.dumps(reply)
            ids |= _chosen(step.get("answered"), reply, request=json.dumps(params))
        except DoorError as error:
            answer = f"{type(error).__name__}: {one_line(error)}"
            if isinstance(error, Lost):
                dead.add(who)
        mark = "∥" if step.get("at_once") else " "
        say(f"{who!s:>4} {mark}{method} {json.dumps(params)[:300]}\n      → {answer[:500]}")
    for who, door in doors.items():
        if who not in dead:
            fleet.give_back(door, retired=False)


def _chosen(then: Any, now: Any, request: str) -> dict[str, str]:
    """Texts that stand where another one stood, and that the caller did not say itself."""
    if isinstance(then, dict) and isinstance(now, dict):
        pairs = [(then[key], now[key]) for key in then.keys() & now.keys()]
    elif isinstance(then, list) and isinstance(now, list):
        pairs = list(zip(then, now, strict=False))
    else:
        is_new = isinstance(then, str) and isinstance(now, str) and then != now and json.dumps(now) not in request
        return {then: now} if is_new else {}
    return {before: after for pair in pairs for before, after in _chosen(*pair, request).items()}


def _with(ids: dict[str, str], value: Any) -> Any:
    """Parameters with the ids of this run."""
    match value:
        case dict():
            return {key: _with(ids, inner) for key, inner in value.items()}
        case list():
            return [_with(ids, inner) for inner in value]
        case str():
            return ids.get(value, value)
    return value
