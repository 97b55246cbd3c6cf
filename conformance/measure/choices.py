"""`python conformance/measure/choices.py`: is a bus that chose otherwise, where its seed is silent, judged VALID?

Two kinds of them: mutants whose killing rows are all RESOLVED, and the variants in conformance/choices, each a choice
that docs/spec leaves free. Every one is given the whole of `check`. Results are lines of docs/choices/SYSTEM.jsonl, one
a bus, the last counts; a bus with one is not judged again, so a run can be broken off. `played` says how much of
`check` it is: whole, short (without the corpus, the search and waits), or in two (short, and later all the rest, which
has no verdict of its own). A play ends after the first part in which a MUST row fails.

`--together 8` judges one bus that makes as many as eight choices at once, which is nearer to a bus of somebody else: if
it is VALID, so are they all, and their lines say with whom; if it is not, each is judged alone.
"""

from __future__ import annotations

import argparse
import ast
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import together

from busproof.bus.fleet import reference, warm_for
from busproof.bus.warm import Warm
from busproof.contract import CONTRACTS
from busproof.contract.catalogue import CORPUS, EXPLORE, catalogue
from busproof.mutant import mutants
from busproof.run.pytest_run import PARTICIPANT, Run
from busproof.systems import SYSTEMS

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "choices"
VARIANTS = ROOT / "conformance" / "choices"
SEED = 1
WHY_MAX = 300
WHOLE, SHORT, REST, IN_TWO = "whole", "short", "rest", "in two"

# Choices on which a MUST row fails: a fault of the kit, or of the mutant.
SINCE = "the model follows it since; it was not judged again"
BLAMED = {
    "comms a_strangers_line_is_the_start": "it doubles our lines, and since 0028 that breaks a MUST: no free choice",
    "topics outbox_survives_a_bad_ack": SINCE,
    "relay short_ids": "of two agents, files of one name have one id: a pass breaks off at the second",
}


@dataclass(frozen=True)
class Choice:
    """A bus that differs from the reference only where that is allowed."""

    system: str
    path: Path
    sentence: str

    @property
    def name(self) -> str:
        """Unique in its system."""
        return self.path.stem

    def spec(self, warm: Warm) -> str:
        """Its --bus, started from a warm process."""
        return _spec(self.system, [self.path], warm)


@dataclass(frozen=True)
class Company:
    """A bus that makes several choices at once; no two of them change one thing of the reference."""

    system: str
    members: tuple[Choice, ...]

    @property
    def name(self) -> str:
        """The names of all of them."""
        return " + ".join(one.name for one in self.members)

    @property
    def sentence(self) -> str:
        """None of its own."""
        return ""

    def spec(self, warm: Warm) -> str:
        """Its --bus, started from a warm process."""
        return _spec(self.system, [Path(together.__file__), *(one.path for one in self.members)], warm)


def _spec(system: str, argv: list[Path], warm: Warm) -> str:
    scheme = reference(system).partition(":")[0]
    return warm.spec(f"{scheme}:{shlex.join([sys.executable, *map(str, argv)])}")


def choices(system: str) -> Iterator[Choice]:
    """The mutants that no MUST and no SHOULD row is told to kill, then the variants."""
    rows = catalogue(system)
    for mutant in mutants(system).values():
        if not mutant.chaos and all(rows[one].level == "RESOLVED" for one in mutant.killed_by):
            yield Choice(system, mutant.path, mutant.sentence)
    for path in sorted((VARIANTS / system).glob("*.py")):
        yield Choice(system, path, ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")


def companies(todo: list[Choice], size: int) -> list[Company]:
    """All of them, each in the first company that has room and touches nothing that it touches."""
    found: list[tuple[list[Choice], set[str]]] = []
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        touched = pool.starmap(together.touched, [(one.system, str(one.path)) for one in todo], chunksize=1)
    for one, names in zip(todo, touched, strict=True):
        for members, all_names in found:
            if len(members) < size and not names & all_names:
                members.append(one)
                all_names |= names
                break
        else:
            found.append(([one], set(names)))
    return [Company(members[0].system, tuple(members)) for members, _ in found]


def judged(choice: Choice | Company, warm: Warm, played: str = WHOLE) -> dict[str, Any]:
    """The verdict of `check` on it, and the rows that did not pass; for a part alone it is no verdict."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(
            out=Path(folder),
            system=choice.system,
            bus=choice.spec(warm),
            mixed_with=PARTICIPANT if CONTRACTS[choice.system].participant else "",
            only=[],
            profile="",
            seed=SEED,
            known_file="",
            nightly=False,
        )
        try:
            for label, item in run.items():
                is_wanted = played == WHOLE or (played == REST) == is_long(run, item)
                if is_wanted and any(result.outcome == "fail" for result in run.play(label, item)):
                    break
        finally:
            report = run.finish()
    by_outcome: dict[str, dict[str, str]] = {"fail": {}, "warn": {}, "could-not-run": {}, "inconclusive": {}}
    for row in report.rows:
        if row["outcome"] in by_outcome:
            by_outcome[row["outcome"]].setdefault(row["requirement"], f"{row['fleet']}: {row['why']}"[:WHY_MAX])
    return {
        "bus": choice.name,
        "sentence": " ".join(choice.sentence.split()),
        "played": played,
        "verdict": report.verdict if played == WHOLE else "invalid" if by_outcome["fail"] else "",
        "fails": by_outcome["fail"],
        "warns": sorted(by_outcome["warn"]),
        "undecided": by_outcome["could-not-run"] | by_outcome["inconclusive"] if played == WHOLE else {},
    }


def in_two(short: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """The short play, and the rest that it left out, as one line."""
    warns = sorted({*short["warns"], *rest["warns"]})
    return {**rest, "played": IN_TWO, "fails": short["fails"] | rest["fails"], "warns": warns}


def is_long(run: Run, item: str) -> bool:
    """The corpus, a search, a scenario that waits for seconds."""
    scenario = SYSTEMS[run.system].scenarios.get(item)
    return item.partition(":")[0] in (CORPUS, EXPLORE) or (scenario is not None and scenario.is_long)


def told(system: str, folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """The last line of each bus."""
    path = folder / f"{system}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {line["bus"]: line for line in map(json.loads, lines)}


@cache
def _warm() -> Warm:
    return warm_for(SYSTEMS)


def _judged(choice: Choice, is_short: bool, known: dict[str, Any]) -> dict[str, Any]:
    if is_short:
        return judged(choice, _warm(), SHORT)
    if known.get("played") == SHORT:
        return in_two(known, judged(choice, _warm(), REST))
    return judged(choice, _warm())


def _judged_together(company: Company, is_short: bool, known: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """One line for each member; each judged alone, if they are not VALID together."""
    members = company.members
    line = judged(company, _warm()) if len(members) > 1 and not is_short else {"verdict": ""}
    if line["verdict"] != "valid":
        if len(members) > 1 and not is_short:
            print(f"{company.name}: {line['verdict']}", *line["fails"], file=sys.stderr, flush=True)
        return [_judged(one, is_short, known.get(one.name, {})) for one in members]
    own = [{"bus": one.name, "sentence": " ".join(one.sentence.split())} for one in members]
    beside = [{"with": [other.name for other in members if other is not one]} for one in members]
    return [{**line, **head, **company_of} for head, company_of in zip(own, beside, strict=True)]


def main() -> int:
    """Judge each bus without a line, or with none of the whole check, and write it; 1 if a MUST row fails on one."""
    parser = argparse.ArgumentParser(description="Judge buses that chose otherwise by busproof check.")
    parser.add_argument("system", nargs="*", choices=[*SYSTEMS, []], help="default: all")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--bus", action="append", default=[], metavar="NAME", help="these, though they have a line")
    parser.add_argument("--short", action="store_true", help="leave out the corpus, the search and what waits")
    parser.add_argument("--together", type=int, default=1, metavar="N", help="judge as many as N choices in one bus")
    parser.add_argument("--again", action="store_true", help="also those that a MUST row fails on")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    bad = []
    for system in args.system or SYSTEMS:
        all_of_it = list(choices(system))
        known = told(system, args.out)
        final = {name for name, line in known.items() if args.short or line["played"] != SHORT}
        final -= {name for name, line in known.items() if args.again and line["fails"]}
        todo = [one for one in all_of_it if (one.name in args.bus if args.bus else one.name not in final)]
        _judge(system, todo, known, args)
        known = told(system, args.out)
        lines = [known[one.name] for one in sorted(all_of_it, key=lambda one: one.name) if one.name in known]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (args.out / f"{system}.jsonl").write_text(text, encoding="utf-8")
        bad += [f"{system} {line['bus']}: {', '.join(line['fails'])}" for line in lines if line["fails"]]
    print("\n".join(bad) or "no MUST row fails on any of them")
    return int(bool(bad))


def _judge(system: str, todo: list[Choice], known: dict[str, dict[str, Any]], args: argparse.Namespace) -> None:
    known_short = {name: line for name, line in known.items() if not (args.bus or line["fails"])}
    with ProcessPoolExecutor(args.jobs) as pool:
        for done in as_completed(
            [pool.submit(_judged_together, one, args.short, known_short) for one in companies(todo, args.together)]
        ):
            for line in done.result():
                with (args.out / f"{system}.jsonl").open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print(system, line["bus"], line["verdict"], *line["fails"], file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
