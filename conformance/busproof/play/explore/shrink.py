"""The smallest script that still shows a difference: steps go first, then values shrink, then members go one by one.

Every trial is played on a fresh store. References let a step stay when others go; one whose reference is gone is left
out when played. A difference that does not come again was luck, and the result says so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from busproof.play.explore.script import ANYWHERE, Step, copied, to_line
from busproof.play.explore.search import Program

TRIES_MAX = 2_000

Try = Callable[[list[Step]], Program]


def shrink(play: Try, program: Program, *, seconds: float = 20.0) -> tuple[Program, bool]:
    """A smaller program with the same kind of mismatch, of the same rows, and whether it came again at all."""
    assert program.mismatch is not None
    form, until = (program.mismatch.kind, program.mismatch.rows), time.monotonic() + seconds
    tried: set[str] = set()

    def shows(steps: list[Step]) -> Program | None:
        trial = play(steps)
        is_same = trial.mismatch is not None and (trial.mismatch.kind, trial.mismatch.rows) == form
        return trial if is_same else None

    def is_over() -> bool:
        return time.monotonic() >= until or len(tried) >= TRIES_MAX

    best = shows(program.steps)
    if best is None:
        return program, False
    for smaller in (_fewer_steps, _simpler_values, _smaller_steps):
        is_done = False
        while not is_done and not is_over():
            is_done = True
            for steps in smaller(best.steps):
                if is_over():
                    break
                text = "".join(map(to_line, steps))
                if text not in tried and (trial := shows(steps)) is not None:
                    best, is_done = trial, False
                    break
                tried.add(text)
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
    if isinstance(value, dict) and "$text" in value:
        return  # a text in another form
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in pairs:
        if path and not (isinstance(value, dict) and any(str(name).startswith("$") for name in value)):
            yield (*path, key)
        yield from _members(member, (*path, key))


def _remove(value: Any, path: tuple[Any, ...]) -> None:
    for key in path[:-1]:
        value = value[key]
    del value[path[-1]]


# -- values


def _simpler_values(steps: list[Step]) -> Iterator[list[Step]]:
    """One value of one call in a simpler form."""
    for at, step in enumerate(steps):
        for simpler in _simpler_step(step):
            yield [*steps[:at], simpler, *steps[at + 1 :]]


def _simpler_step(step: Step) -> Iterator[Step]:
    """The hand's calls stay whole, and so do those with a path: another one might lead out of the store."""
    for at, inner in enumerate(step.calls):
        for simpler in _simpler_step(inner):
            yield replace(step, calls=[*step.calls[:at], simpler, *step.calls[at + 1 :]])
    if step.do == "many":
        yield from (replace(step, times=times) for times in simpler_than(step.times) if times > 0)
    if step.method and step.at != "hand" and step.method not in ANYWHERE:
        for params in _in_one_member(step.params):
            yield replace(step, params=params)


def simpler_than(value: Any) -> Iterator[Any]:
    """Simpler values of the same kind, the simplest first: shorter texts, fewer members, smaller numbers.

    Each is smaller than the value in one order, so a chain of them has an end. References stay as they are.
    """
    match value:
        case bool():
            yield from [False] * value
        case int():
            yield from _smaller(value)
        case float() if value.is_integer():
            yield from (float(whole) for whole in _smaller(int(value)) if float(whole) != value)
        case float() if math.isfinite(value):
            yield float(int(value))
        case str():
            yield from _fewer(value)
            if value != (plain := "a" * len(value)):
                yield plain
        case {"$text": runs}:
            yield from ({"$text": fewer} for fewer in _fewer(runs))
            for n, (char, times) in enumerate(runs):
                yield from ({"$text": [*runs[:n], [char, less], *runs[n + 1 :]]} for less in _smaller(times))
        case {"$many": times}:
            yield from ({**value, "$many": less} for less in _smaller(times))
            yield from ({**value, "of": simpler} for simpler in simpler_than(value["of"]))
        case dict():
            if "$" not in value:
                yield from map(dict, _fewer([*value.items()]))
                yield from _in_one_member(value)
        case list():
            yield from _fewer(value)
            for n, member in enumerate(value):
                yield from ([*value[:n], simpler, *value[n + 1 :]] for simpler in simpler_than(member))


def _in_one_member(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same members, one of them simpler."""
    for key, member in value.items():
        yield from ({**value, key: simpler} for simpler in simpler_than(member))


def _smaller(number: int) -> Iterator[int]:
    """Nearer to 0; of two as near, the positive one."""
    sign = -1 if number < 0 else 1
    yield from (number - sign * cut for cut in _cuts(abs(number)))
    yield from [-number] * (number < 0)


def _fewer(many: Any) -> Iterator[Any]:
    """A text or a list with an end cut off: all of it, half, a quarter, … one; or its first half."""
    yield from (many[: len(many) - cut] for cut in _cuts(len(many)))
    if len(many) > 1:
        yield many[len(many) // 2 :]


def _cuts(size: int) -> Iterator[int]:
    """All of it, half, a quarter, … one: the largest cut that still shows it is found in few trials."""
    while size:
        yield size
        size //= 2
