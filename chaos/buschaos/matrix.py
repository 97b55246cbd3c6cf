"""Which act finds which planted fault: `python -m buschaos.matrix OUT.md`, from a run of every mutant that says CHAOS.

`OUT.md SYSTEM/NAME…` plays these alone and leaves the rest of the page as it is; `OUT.md --new` plays those it lacks.

Each mutant is played as its CHAOS tells, and found if every row that it names fails. A fault that is not found stands
in the table as such.
"""

from __future__ import annotations

import errno
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from buschaos import report
from buschaos.crashpoints import in_the_middle
from buschaos.gone import CASES
from buschaos.limits import Enough, Progress
from buschaos.run import SHORT, Run, Settings, run
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from busproof.contract.catalogue import catalogue
from busproof.mutant import Mutant, mutants
from busproof.run.runner import Outcome

Found = dict[tuple[str, str], tuple[bool, float]]  # by system and name: whether it was found, and in how many seconds

_ACTS = {
    "kills": "random kills",
    "points": "kill points",
    "power": "power loss",
    "holds": "holds",
    "waits": "waits",
    "disk_full": "full disk and errors",
    "damage": "damage",
    "ways": "gone callers",
}


def planted() -> list[Mutant]:
    """All mutants that chaos kills."""
    return [mutant for system in SUBJECTS for mutant in mutants(system).values() if mutant.chaos]


class AllFail(Progress):
    """Ends a run when each of these rows has failed: the rest would say nothing new of a mutant."""

    def __init__(self, rows: Iterable[str], system: str) -> None:
        super().__init__()
        self._left = [catalogue(system)[row] for row in rows]
        self._nouns = report.nouns_by_act(system)

    def found(self, problem: Problem, act: str) -> None:
        """Raises Enough at the last of them."""
        self._left = [r for r in self._left if r.check != act or not report.is_against(problem, r, self._nouns[act])]
        if not self._left:
            raise Enough("all rows that were to fail have failed")


def outcomes(
    bus: str, out: Path, system: str, how: dict[str, Any], seed: int = 1, until: Iterable[str] = ()
) -> dict[str, Outcome]:
    """Row → outcome of as much of a run as a mutant's CHAOS tells, at most until all rows of `until` have failed."""
    return by_row(play(bus, out, system, how, seed, AllFail(until, system) if until else None), system)


def by_row(played: Run, system: str) -> dict[str, Outcome]:
    """Row → outcome."""
    return {row.requirement: row.outcome for row in report.rows(played, system)}


def play(bus: str, out: Path, system: str, how: dict[str, Any], seed: int = 1, progress: Progress | None = None) -> Run:
    """Play as much of a run as a mutant's CHAOS tells: the fields of `Settings`, in plain words."""
    only, ways = how.get("only"), how.get("ways", ())
    only = (only,) if isinstance(only, str) else only
    fields = {
        "twice": 0,
        "crossed": 0,
        "deaths": 0,
        **{name: value for name, value in how.items() if name not in ("only", "ways", "errors")},
        "operations": only and tuple(op for op in SUBJECTS[system].repertoire.operations if op.name in only),
        "errors": tuple(getattr(errno, name) for name in how.get("errors", ("ENOSPC",)) if name != SHORT),
        "reads": "EIO" in how.get("errors", ()),
        "shorts": SHORT in how.get("errors", ()),
    }
    if ways:
        # A sync with news that advances by itself: every message that it lost or doubled shows.
        fields["cases"] = tuple(case for case in CASES if case.auto_advance and not case.waits and case.way in ways)
        fields["gone"] = True
    settings = Settings(specs=[bus], out=out, system=system, seed=seed, torn=in_the_middle, **fields)
    return run(settings, progress)


def is_found(mutant: Mutant, told: dict[str, Outcome]) -> bool:
    """Has every row that it names failed?"""
    rows = catalogue(mutant.system)
    return all(told[row] == ("fail" if rows[row].level == "MUST" else "warn") for row in mutant.killed_by)


def acts_of(mutant: Mutant) -> list[str]:
    """The acts that are to find it."""
    return [said for name, said in _ACTS.items() if name in mutant.chaos]


def page(found: Found) -> str:
    """The table."""
    found = {key: found[key] for key in ((mutant.system, mutant.name) for mutant in planted()) if key in found}
    lines = [
        "<!-- Generated: python -m buschaos.matrix docs/chaos-faults.md -->",
        "# Faults that chaos finds",
        "",
        "Each is a reference bus with one fault (`conformance/mutants/`), played as it tells, once. *Found*: every row",
        "that it names failed; the same run of a bus without a fault passes them (`chaos/tests/test_rows.py`).",
        "",
        f"{len(planted())} are planted, {len(found)} were played, {sum(it for it, _ in found.values())} were found.",
        "",
        "| fault | what it does | found by | rows | seconds |",
        "|---|---|---|---|---|",
        *_rows(found),
    ]
    return "\n".join(lines) + "\n"


def _rows(found: Found) -> Iterator[str]:
    for mutant in planted():
        if (mutant.system, mutant.name) in found:
            is_it, seconds = found[mutant.system, mutant.name]
            acts = ", ".join(acts_of(mutant))
            sentence = " ".join(mutant.sentence.split())
            yield (
                f"| {mutant.system}/{mutant.name} | {sentence} | {acts if is_it else f'not found ({acts})'} "
                f"| {', '.join(mutant.killed_by)} | {seconds:.0f} |"
            )


def known(text: str) -> Found:
    """The results that a page tells."""
    rows = re.findall(r"^\| (\w+)/(\w+) \| .* \| ([^|]*) \| [^|]* \| (\d+) \|$", text, re.MULTILINE)
    return {(system, name): (not acts.startswith("not found"), float(s)) for system, name, acts, s in rows}


def main() -> None:
    """Play, and write the page."""
    out, names = Path(sys.argv[1]), sys.argv[2:]
    found = known(out.read_text(encoding="utf-8")) if names and out.exists() else {}
    for mutant in planted():
        key = mutant.system, mutant.name
        if names and "/".join(key) not in names and not (names == ["--new"] and key not in found):
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="busproof-matrix-") as folder:
            told = outcomes(mutant.spec(), Path(folder), mutant.system, mutant.chaos, until=mutant.killed_by)
        found[key] = is_found(mutant, told), time.monotonic() - began
        print(*key, *found[key], flush=True)
        out.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
