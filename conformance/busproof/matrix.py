"""`busproof mutants SYSTEM`: which requirement kills which broken bus, from a run of all of them.

Each mutant plays the items of the rows that it names. Every row that does not pass there is a kill, named or not: a row
that kills nothing was never seen to fail. Results are SYSTEM.jsonl, the page is SYSTEM.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from busproof.bus.fleet import Fleet, warm_for
from busproof.bus.warm import Warm
from busproof.contract.catalogue import catalogue
from busproof.mutant import Mutant, mutants
from busproof.run.runner import run_item
from busproof.systems import SYSTEMS

SEED = 1
KILLS = ("fail", "warn")


def main(argv: Sequence[str]) -> int:
    """Run every mutant, write both files. 1 if one passes, or a row that it names does."""
    parser = argparse.ArgumentParser(prog="busproof mutants", description="Which requirement kills which broken bus.")
    parser.add_argument("system", choices=sorted(SYSTEMS))
    parser.add_argument("--out", type=Path, default=Path("busproof-out"), help="folder of SYSTEM.jsonl and SYSTEM.md")
    parser.add_argument("--new", action="store_true", help="only those that have no line in SYSTEM.jsonl yet")
    args = parser.parse_args(list(argv))
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / f"{args.system}.jsonl"
    known = path.read_text(encoding="utf-8").splitlines() if args.new and path.exists() else []
    told = {line["mutant"]: line for line in map(json.loads, known)}
    lines = []
    with warm_for([args.system]) as warm:
        for mutant in mutants(args.system).values():
            lines.append(told.get(mutant.name) or judged(mutant, warm))
            if sys.stderr.isatty():
                print(f"  {len(lines)} {mutant.name}", file=sys.stderr)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (args.out / f"{args.system}.md").write_text(page(args.system, lines), encoding="utf-8")
    alive = [
        line["mutant"] for line in lines if not line["chaos"] and not set(line["named"]) <= line["killed_by"].keys()
    ]
    print(f"{len(lines)} broken buses of {args.system}, {len(alive)} not killed as they should be: {', '.join(alive)}")
    return int(bool(alive))


def judged(mutant: Mutant, warm: Warm | None) -> dict[str, Any]:
    """One mutant: the rows that it names, and those that did not pass on it."""
    rows = catalogue(mutant.system)
    items = {mutant.item or rows[one].item for one in mutant.killed_by} - {""}
    killed_by: dict[str, str] = {}
    if items:
        with contextlib.closing(Fleet([mutant.spec(warm)], system=mutant.system)) as fleet:
            found = [result for item in sorted(items) for result in run_item(fleet, item, seed=SEED)]
        killed_by = {one.requirement: one.outcome for one in found if one.outcome in KILLS}
    return {
        "mutant": mutant.name,
        "noun": mutant.noun,
        "sentence": " ".join(mutant.sentence.split()),
        "named": list(mutant.killed_by),
        "items": sorted(items),
        "chaos": not items,
        "killed_by": dict(sorted(killed_by.items())),
    }


def page(system: str, lines: Iterable[dict[str, Any]]) -> str:
    """Markdown: rows, each with the mutants that it kills, by noun."""
    kills: dict[str, list[str]] = {}
    buses = {line["mutant"]: line for line in lines}
    for name, line in buses.items():
        for row in line["named"] if line["chaos"] else line["killed_by"]:
            kills.setdefault(row, []).append(name + ("*" if row not in line["named"] else ""))
    rows = [row for row in catalogue(system).values() if row.check]
    killing = sum(row.id in kills for row in rows)
    told = [
        f"<!-- Generated: busproof mutants {system} --out docs/mutants -->",
        f"# Which requirement of `{system}` kills which broken bus",
        "",
        f"{len(buses)} broken buses, a fault each; {killing} of {len(rows)} rows kill one.",
        "A star is a kill that the bus does not name. Buses that only chaos kills stand with the rows they name.",
        "",
        "| requirement | level | kills |",
        "|---|---|---|",
    ]
    told += [f"| {row.id} | {row.level} | {', '.join(sorted(kills.get(row.id, ['nothing'])))} |" for row in rows]
    told += ["", "## The buses", "", "| bus | its fault | rows that fail on it |", "|---|---|---|"]
    for name, line in sorted(buses.items()):
        count = "chaos" if line["chaos"] else str(len(line["killed_by"]))
        told.append(f"| {name} | {line['sentence'].replace('|', chr(92) + '|')} | {count} |")
    return "\n".join(told) + "\n"
