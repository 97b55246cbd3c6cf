"""The smallest script that still shows a difference: steps go first, then members of their parameters.

Every trial is played on a fresh store. References let a step stay when others go; one whose reference is gone is left
out when played. A difference that does not come again was luck, and the result says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from busproof.explore.script import Step, copied
from busproof.explore.search import Program

Try = Callable[[list[Step]], Program]


def shrink(play: Try, program: Program, *, seconds: float = 20.0) -> tuple[Program, bool]:
    """A smaller program with the same kind of mismatch, and whether it came again at all."""
    assert program.mismatch is not None
    kind, until = program.mismatch.kind, time.monotonic() + seconds

    def shows(steps: list[Step]) -> Program | None:
        trial = play(steps)
        return trial if trial.mismatch is not None and trial.mismatch.kind == kind else None

    best = shows(program.steps)
    if best is None:
        return program, False
    for smaller in (_fewer_steps, _smaller_steps):
        is_done = False
        while not is_done and time.monotonic() < until:
            is_done = True
            for steps in smaller(best.steps):
                if time.monotonic() >= until:
                    break
                if (trial := shows(steps)) is not None:
                    best, is_done = trial, False
                    break
    return best, True


def _fewer_steps(steps: list[Step]) -> Iterator[list[Step]]:
    """Leave out half of them, a quarter, … one; the last steps stay longest, for they show the difference."""
    size = len(steps) // 2
    while size >= 1:
        for start in range(0, len(steps), size):
            left = steps[:start] + steps[start + size :]
            if left:
                yield left
        size //= 2


def _smaller_steps(steps: list[Step]) -> Iterator[list[Step]]:
    """One member of one call's parameters left out. The hand's calls stay whole."""
    for at, step in enumerate(steps):
        for path in () if step.at == "hand" else _members(step.params):
            smaller = replace(step, params=copied(step.params))
            _remove(smaller.params, path)
            yield [*steps[:at], smaller, *steps[at + 1 :]]


def _members(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Members of the message and its like; a call's own parameters stay, or it would be another call."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in pairs:
        if path and not (isinstance(value, dict) and any(str(name).startswith("$") for name in value)):
            yield (*path, key)
        yield from _members(member, (*path, key))


def _remove(value: Any, path: tuple[Any, ...]) -> None:
    for key in path[:-1]:
        value = value[key]
    del value[path[-1]]
