"""Is the same found every time? `python -m buschaos.repeats N OUT.md [SYSTEM/NAME…]` plays planted faults N times each.

The seed is the same each time. The page tells of each fault how often every row that it names failed, whether all rows
ended the same each time, and whether the same problems were found at the same points. Random kills strike moments that
the machine's load decides, so they are listed apart: only the first may be expected of them, and that by luck.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from buschaos.matrix import acts_of, by_row, is_found, planted, play
from buschaos.run import Run
from busproof.mutant import Mutant

_CHANGING = re.compile(r"[0-9a-f]{8,}|\d+ bytes")  # ids and sizes that a bus draws anew


@dataclass(frozen=True)
class Repeats:
    """One fault, played several times."""

    mutant: Mutant
    times: int
    found: int
    same_rows: bool
    same_problems: bool

    @property
    def is_drawn(self) -> bool:
        """Does an act that kills at random take part?"""
        return "kills" in self.mutant.chaos

    @property
    def is_kept(self) -> bool:
        """Is it found every time, and in the same rows?"""
        return self.found == self.times and self.same_rows


def repeat(mutant: Mutant, times: int) -> Repeats:
    """Play it so many times, under one seed."""
    rows, problems, found = [], [], 0
    for _ in range(times):
        with tempfile.TemporaryDirectory(prefix="busproof-repeats-") as folder:
            played = play(mutant.spec(), Path(folder), mutant.system, mutant.chaos)
            told = by_row(played, mutant.system)
        found += is_found(mutant, told)
        rows.append(told)
        problems.append(_problems(played))
    return Repeats(mutant, times, found, _are_same(rows), _are_same(problems))


def _problems(played: Run) -> set[tuple[str, str, str]]:
    """The problems of each act, and where they were found."""
    return {
        (act.name, problem.noun, _CHANGING.sub("*", problem.point))
        for act in played.acts
        for problem, _ in act.problems
    }


def _are_same(told: Sequence[object]) -> bool:
    return all(one == told[0] for one in told)


def page(all_: Iterable[Repeats], load: str) -> str:
    """The table, faults of exact acts first."""
    every = sorted(all_, key=lambda one: one.is_drawn)
    exact = [one for one in every if not one.is_drawn]
    kept, same = sum(one.is_kept for one in exact), sum(one.same_problems for one in exact)
    lines = [
        "<!-- Generated: python -m buschaos.repeats -->",
        "# The same seed, again and again",
        "",
        f"Planted faults, each played {every[0].times} times under one seed at load {load} (`buschaos/repeats.py`).",
        f"Of {len(exact)} that exact acts are to find {kept} were found every time with one outcome of all rows,",
        f"and {same} of them at the same points and no other.",
        "Those that random kills take part in stand last.",
        "",
        "| fault | acts | found | same rows | same points |",
        "|---|---|---|---|---|",
        *_rows(every),
    ]
    return "\n".join(lines) + "\n"


def _rows(every: Iterable[Repeats]) -> Iterator[str]:
    for one in every:
        name, acts = f"{one.mutant.system}/{one.mutant.name}", ", ".join(acts_of(one.mutant))
        said = ("no", "yes")
        yield f"| {name} | {acts} | {one.found} of {one.times} | {said[one.same_rows]} | {said[one.same_problems]} |"


def main() -> int:
    """Play, write the page, and end with 1 if an exact act did not find its fault every time."""
    times, out, names = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    done: list[Repeats] = []
    for mutant in planted():
        if names and f"{mutant.system}/{mutant.name}" not in names:
            continue
        done.append(repeat(mutant, times))
        print(f"{mutant.system}/{mutant.name}: {done[-1].found} of {times}", flush=True)
        out.write_text(page(done, f"{os.getloadavg()[0]:.0f}"), encoding="utf-8")
    return 0 if all(one.is_kept for one in done if not one.is_drawn) else 1


if __name__ == "__main__":
    sys.exit(main())
