"""Calls made once more, when others have changed what they do: a process may remember a thing that is so no longer.

No generator thinks of that for every call. The model knows which earlier calls would end in another way by now.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

from busproof.explore.orders import Called, copy_of
from busproof.explore.script import Step
from busproof.explore.stage import Stage
from busproof.models.spec import DoesNotApply

NEAREST = 3  # changes before a call
TRIED = 6  # earlier calls that are tried on the model
ANYWHERE = ("store", "")  # the thing that all calls touch


class Recall:
    """The calls of a program so far, and those that are worth another one."""

    def __init__(self, stage: Stage, dice: random.Random) -> None:
        self._stage, self._dice = stage, dice
        self._asked: list[tuple[int, Step]] = []  # and where they are in the stage's history

    def note(self, step: Step, place: int) -> None:
        """It was played; its answer is at this place of the history."""
        if step.do == "call" and isinstance(step.at, int) and place < len(self._stage.history):
            self._asked.append((place, step))

    def any(self) -> Step | None:
        """Any earlier call, by its caller or another one."""
        if not self._asked:
            return None
        (_, step), (_, other) = self._dice.choice(self._asked), self._dice.choice(self._asked)
        return replace(step, at=self._dice.choice((step.at, other.at)), name="", tags=())

    def changed(self) -> Step | None:
        """An earlier call by its caller, if it would do another thing by now and others had a part in that."""
        for place, step in self._dice.sample(self._asked, min(TRIED, len(self._asked))):
            if step.at in self._stage.places and self._is_changed(place):
                return replace(step, name="", tags=())
        return None

    def _is_changed(self, place: int) -> bool:
        (before, *others), _ = self._stage.history[place]
        since = [one for calls, _ in self._stage.history[place + 1 :] for one in calls if one.at != before.at]
        if others or not since:
            return False
        trial = copy_of(self._stage.model)
        try:
            answer = trial.call("again", before.at, before.method, before.params, self._stage.now_ms)
        except DoesNotApply:
            return False
        if answer.least_s:  # it would wait in vain
            return False
        if answer.differs(before.seen):
            return True
        things = self._things(before)
        shares = any(things & self._things(one) for one in since)
        return shares and trial.fingerprint() != self._stage.model.fingerprint()

    def _things(self, called: Called) -> set[tuple[str, str]]:
        return _things(self._stage, called)


def _things(stage: Stage, called: Called) -> set[tuple[str, str]]:
    return {*stage.specification.things(called.method, called.params)} - {ANYWHERE}


def recalls(stage: Stage) -> set[tuple[str, ...]]:
    """The recalls of a program that was played and measured.

    Each is a call, one of another process that changed the state meanwhile, and the same call by the same process
    again: methods and outcomes. Either the answer became another one, or both touched the same thing.
    """
    found = set[tuple[str, ...]]()
    last = dict[tuple[int | str, str, str], int]()
    for place, (calls, _) in enumerate(stage.history):
        one = calls[0]
        if len(calls) > 1 or one.at == "hand" or one.step.endswith(".look"):
            continue
        asked = one.at, one.method, repr(one.params)
        if (first := last.get(asked)) is not None:
            before = stage.history[first][0][0]
            others = (*itertools.chain(*(stage.history[n][0] for n in range(first + 1, place) if n in stage.changes)),)
            for other in others[-NEAREST:]:
                differs = repr(before.seen) != repr(one.seen)
                if other.at != one.at and (differs or _things(stage, one) & _things(stage, other)):
                    found.add((before.said, other.said, one.said))
        last[asked] = place
    return found
