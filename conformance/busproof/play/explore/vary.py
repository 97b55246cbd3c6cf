"""A script under look-alike names, with clocks that go back and forth, with sessions that end and begin between its
steps, and in a store that has lived long.

A script is data, and the model judges anything that is played. So one story tests more than once: a bus that confuses
two names, reckons with a clock that only goes on, keeps in a process things that belong in the store, or has too little
room for a large number, gives another answer somewhere on the way.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from busproof.play.explore.script import Step

# Only every byte tells them apart: not LIKE or GLOB, not without case, not by a part beside a colon, not in NFC.
LOOK_ALIKE = ("a_b:c\u00e9", "A_B:c\u00e9", "aXb:c\u00e9", "a_b:ce\u0301", "a_b", "c\u00e9", "a_b:c\u00e9 ", "a%")
BACK_MS = (0, -60_000, 0, -1, 0, 0, -1_000)  # seven, so that a story with a beat of its own meets them in any order
VISITOR = 8  # a process that no story has
INTERRUPTIONS = ("visit", "restart", "visit")
NUMBERS_USED_UP = (2**31 - 2, 2**32 - 2, 2**53 - 1000)  # the next rows stand on both sides of an edge, or near one


def renamed(steps: Iterable[Step], names: Mapping[str, str]) -> list[Step]:
    """The same story about others. A name is replaced where it is a whole text, a key, or a part of a path."""

    def of(value: Any) -> Any:
        if isinstance(value, str):
            return "/".join(names.get(part, part) for part in value.split("/"))
        if isinstance(value, dict):
            return value if "$" in value else {of(key): of(member) for key, member in value.items()}
        return [of(member) for member in value] if isinstance(value, list) else value

    return [_changed(step, of) for step in steps]


def _changed(step: Step, of: Any) -> Step:
    calls = [_changed(c, of) for c in step.calls]
    params = step.params if step.do in ("open", "clock", "restart") else of(step.params)
    return dataclasses.replace(step, params=params, calls=calls, tags=())


def there_and_back(steps: Iterable[Step], start_ms: int) -> list[Step]:
    """The same story, told by somebody whose clock is set back and put right again between its steps."""
    varied, now_ms, offsets = list[Step](), start_ms, itertools.cycle(BACK_MS)
    for step in steps:
        if step.do == "clock":
            now_ms = step.params["now_ms"]
        elif step.do != "open":
            varied.append(Step("clock", params={"now_ms": max(0, now_ms + next(offsets))}, name=f"{step.name}.clock"))
            varied.append(dataclasses.replace(step, tags=()))
            continue
        varied.append(dataclasses.replace(step, tags=()))
    return varied


def interrupted(steps: Iterable[Step]) -> list[Step]:
    """The same story, but between two steps a newcomer opens the store, or the next caller is killed and begins anew.

    The newcomer does nothing more: opening a store changes nothing for those who have it open.
    """
    varied, kinds, options = list[Step](), itertools.cycle(INTERRUPTIONS), dict[str, Any]()
    for step in steps:
        if step.do == "open":
            options = step.params
        elif step.do in ("call", "race", "wait"):
            callers = [c.at for c in step.calls or [step] if c.at != "hand"]
            name = f"{step.name}.interrupted"
            if callers and next(kinds) == "visit":
                varied.append(Step("open", VISITOR, params=options, name=name))
            elif callers:
                varied.append(Step("restart", callers[0], params={"kill": True}, name=name))
        varied.append(dataclasses.replace(step, tags=()))
    return varied


def aged(steps: Sequence[Step]) -> list[Step]:
    """The same story in a store that lives long: before it, and at each third of it, very many numbers are used up."""
    first = next(place for place, step in enumerate(steps) if step.do not in ("store", "open"))
    places = dict(zip((first, len(steps) // 3, len(steps) * 2 // 3), NUMBERS_USED_UP, strict=True))
    varied = list[Step]()
    for place, step in enumerate(steps):
        if place in places:
            varied.append(Step("call", "hand", "burn", {"upto": places[place]}, f"{step.name}.aged"))
        varied.append(dataclasses.replace(step, tags=()))
    return varied
