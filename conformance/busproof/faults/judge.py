"""Is a fault found, by the rows that it names, and is its bus alive otherwise?

`check` finds a fault if each row that it names fails (a row that is no MUST warns), of the fault and not of a bus that
only broke down. The bus is alive if it passes other rows of the same items, or else its control.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from busproof.bus.fleet import Fleet
from busproof.bus.warm import Warm
from busproof.contract.catalogue import catalogue
from busproof.faults.record import Fault
from busproof.run.result import RowResult
from busproof.run.runner import run_item

SEED = 1
KILLS = ("fail", "warn")

# How a report says that a bus broke down, rather than misbehaved.
BREAKDOWN = re.compile(
    r"\bINTERNAL\b|did not answer|no answer to \S+ in |ended before it answered|could not be opened"
    r"|the script broke at|the script needs an answer"
)


@dataclass
class Judgement:
    """What was found of a fault. Nothing is wrong if it died as it says, and was alive otherwise."""

    fault: Fault
    items: list[str]
    killed_by: dict[str, str] = field(default_factory=dict)  # row → fail or warn
    alive: str = ""  # what shows that the bus works: rows that passed, or its control
    wrong: list[str] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """A line of the kill matrix."""
        return {
            "id": self.fault.id,
            "system": self.fault.system,
            "mutant": self.fault.name,
            "noun": self.fault.noun,
            "sentence": self.fault.sentence,
            "named": list(self.fault.rows),
            "items": self.items,
            "killed_by": dict(sorted(self.killed_by.items())),
        }


def judged(fault: Fault, warm: Warm | None = None) -> Judgement:
    """By the means that is to find it: `check`, chaos or a test."""
    if fault.found_by == "test":
        return by_test(fault)
    if fault.found_by == "chaos":
        # A part of its own, with packages of its own, that nobody needs for the faults of `check`.
        rows, wrong = import_module("buschaos.faults").judged(fault)
        return Judgement(fault, [], rows, "the same run of a bus without a fault passes: chaos/tests", wrong)
    return by_check(fault, warm)


def by_check(fault: Fault, warm: Warm | None = None, rows: Collection[str] = ()) -> Judgement:
    """All rows that it names, or these of them."""
    of_system = catalogue(fault.system)
    asked = rows or fault.rows
    items = sorted({fault.item or of_system[row].item for row in asked} - {""})
    judgement = Judgement(fault, items)
    with closing(Fleet([fault.spec(warm)], system=fault.system)) as fleet:
        results = {result.requirement: result for item in items for result in run_item(fleet, item, seed=SEED)}
        passed = sum(result.outcome == "pass" for result in results.values())
        judgement.alive = f"{passed} rows pass beside" if passed else f"it passes its control, {fault.control}"
        judgement.wrong += [] if passed else not_in_control(fault, fleet)
    judgement.killed_by = {row: result.outcome for row, result in results.items() if result.outcome in KILLS}
    for row in asked:
        wanted = "fail" if of_system[row].level == "MUST" else "warn"
        if row not in results or results[row].outcome != wanted:
            ended = f"{results[row].outcome} {results[row].why}" if row in results else "was not judged"
            judgement.wrong.append(f"{row}: {ended}, wanted {wanted}")
        elif words := breakdown(results[row], fault):
            judgement.wrong.append(f"{row}: the bus only broke down: {words}")
    return judgement


def not_in_control(fault: Fault, fleet: Fleet) -> list[str]:
    """Rows that do not pass in the item that the fault does not touch: none, of a bus that works."""
    results = run_item(fleet, fault.control, seed=SEED)
    wrong = [f"control, {each.requirement}: {each.outcome} {each.why}" for each in results if each.outcome != "pass"]
    touched = set(fault.rows) & {each.requirement for each in results}
    nothing = [] if results else [f"control, {fault.control}: it decided no row"]
    return wrong + nothing + [f"control, {row}: the fault names it" for row in sorted(touched)]


def breakdown(result: RowResult, fault: Fault) -> str:
    """Words of a bus that only broke down, where that is not the fault it is there for."""
    codes = " ".join(str(event["code"]) for event in result.events if event.get("code") in ("INTERNAL", "LOST"))
    if fault.dies_of and fault.dies_of in result.why:
        return ""
    return f"{result.why} {codes}" if BREAKDOWN.search(result.why) or codes else ""


def by_test(fault: Fault) -> Judgement:
    """A test of the reference, run with the fault, fails; without the fault it passes."""
    pytest = ("pytest", "-q", "-x", fault.test)
    # Planted where the test runs; and a test that starts the program starts that with the fault.
    environment = {**os.environ, "REFBUS_CLI": shlex.join(fault.command("refbus"))}
    faulty = subprocess.run(fault.command(*pytest), env=environment, capture_output=True, text=True, check=False)
    sound = subprocess.run([sys.executable, "-m", *pytest], capture_output=True, text=True, check=False)
    judgement = Judgement(fault, [fault.test], alive="the test passes without the fault")
    if faulty.returncode == 1:
        judgement.killed_by = {fault.test: "fail"}
    else:
        judgement.wrong.append(f"the test ended with {faulty.returncode}, wanted 1: {faulty.stdout[-300:]}")
    if sound.returncode != 0:
        judgement.wrong.append(f"without the fault the test ended with {sound.returncode}: {sound.stdout[-300:]}")
    return judgement
