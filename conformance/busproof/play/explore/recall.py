"""Calls made once more: when others have changed what they do, or with one word of another call.

A process may remember a thing that is so no longer, or under too short a name. No generator thinks of that for every
call. The model knows which of them would end in another way by now.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from dataclasses import replace

from busproof.oracle.models.spec import Answer, DoesNotApply, Model
from busproof.play.explore.orders import Called, copy_of
from busproof.play.explore.script import MS_WAITED, SECONDS_WAITED, Step, Unresolved, resolve
from busproof.play.explore.stage import Stage

NEAREST = 3  # changes between two calls that count as what came between
TRIED = 6  # earlier calls that are tried on the model
WAITED = (*MS_WAITED, *SECONDS_WAITED)
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

    def around(self, step: Step) -> Step | None:
        """An earlier call, by a process other than the step's, that ends in another way after the step than before it.

        Made before and after it: in between its process does nothing, so all that it remembers is as it was.
        """
        others = sorted(self._stage.places - {step.at})
        if step.do != "call" or not others or not self._asked:
            return None
        with contextlib.suppress(Unresolved):
            params = resolve(step.params, self._stage.model.frees)
            coming = Called("again", step.at, step.method, params, self._stage.now_ms)
            before, after = copy_of(self._stage.model), copy_of(self._stage.model)
            if self._answer(coming, after) is None:
                return None
            for asked in self._one_of_each(coming):
                at = asked.at if asked.at in others else self._dice.choice(others)
                called = replace(coming, at=at, method=asked.method, params=resolve(asked.params, after.frees))
                # They may change the two copies: what comes of that is a hint, and the stage's model judges.
                first, again = self._answer(called, before), self._answer(called, after)
                if first and again and (first.refused, repr(first.value)) != (again.refused, repr(again.value)):
                    return replace(asked, at=at, name="", tags=())
        return None

    def _one_of_each(self, coming: Called) -> list[Step]:
        """An earlier call of each method, in any order; one that touches the same thing, if there is one."""
        things, by_method = _things(self._stage, coming), dict[str, Step]()
        for place, step in self._dice.sample(self._asked, len(self._asked)):
            (before, *_), _ = self._stage.history[place]
            if step.method not in by_method or things & _things(self._stage, before):
                by_method[step.method] = step
        return self._dice.sample(list(by_method.values()), len(by_method))

    def crossed(self) -> Step | None:
        """An earlier call with one argument of another call, if that would end in another way."""
        for place, step in self._dice.sample(self._asked, min(TRIED, len(self._asked))):
            _, other = self._dice.choice(self._asked)
            names = [name for name in step.params.keys() & other.params.keys() if name not in WAITED]
            if not names or step.at not in self._stage.places:
                continue
            name = self._dice.choice(sorted(names))
            again = replace(step, params={**step.params, name: other.params[name]}, name="", tags=())
            with contextlib.suppress(Unresolved):
                params = resolve(again.params, self._stage.model.frees)
                (before, *_), _ = self._stage.history[place]
                answer = self._answer(replace(before, params=params))
                if params != before.params and answer is not None and answer.said(before.method) != before.said:
                    return again
        return None

    def _answer(self, called: Called, model: Model | None = None) -> Answer | None:
        """That of this model, or of a copy of the stage's. None if nothing is known, or if it would wait in vain."""
        try:
            answer = (model or copy_of(self._stage.model)).call(
                "again", called.at, called.method, called.params, self._stage.now_ms
            )
        except (DoesNotApply, TypeError):  # a number that the bus has not chosen yet cannot be compared
            return None
        return None if answer.least_s else answer

    def _is_changed(self, place: int) -> bool:
        (before, *others), _ = self._stage.history[place]
        since = [c for calls, _ in self._stage.history[place + 1 :] for c in calls if c.at != before.at]
        if others or not since:
            return False
        trial = copy_of(self._stage.model)
        answer = self._answer(before, trial)
        if answer is None:
            return False
        if answer.differs(before.seen):
            return True
        things = _things(self._stage, before)
        shares = any(things & _things(self._stage, other) for other in since)
        return shares and trial.fingerprint() != self._stage.model.fingerprint()


def _things(stage: Stage, called: Called) -> set[tuple[str, str]]:
    return {*stage.specification.things(called.method, called.params)} - {ANYWHERE}


def reached(stage: Stage) -> set[tuple[str, ...]]:
    """The recalls and the crossings of a program that was played and measured."""
    return _recalls(stage) | _crossings(stage)


def _recalls(stage: Stage) -> set[tuple[str, ...]]:
    """A call, one of another process that changed the state meanwhile, and the same call by the same process again.

    Its process has changed nothing in between. Methods and outcomes; either the answer became another one, or both
    touched the same thing.
    """
    triples = set[tuple[str, ...]]()
    last = dict[tuple[int | str, str, str], int]()
    for place, (calls, _) in enumerate(stage.history):
        late = calls[0]
        if len(calls) > 1 or late.at == "hand" or late.step.endswith(".look"):
            continue
        asked = late.at, late.method, repr(late.params)
        if (first := last.get(asked)) is not None:
            before = stage.history[first][0][0]
            others = (*itertools.chain(*(stage.history[n][0] for n in range(first + 1, place) if n in stage.changes)),)
            for other in others[-NEAREST:]:
                differs = repr(before.seen) != repr(late.seen)
                if other.at != late.at and (differs or _things(stage, late) & _things(stage, other)):
                    triples.add((before.said, other.said, late.said))
        if place in stage.changes:  # by its own call: what it remembers may be of that
            last = {other: first for other, first in last.items() if other[0] != late.at}
        last[asked] = place
    return triples


def _crossings(stage: Stage) -> set[tuple[str, ...]]:
    """The pairs of calls of one process that differ in one argument and in their end: outcome, argument, outcome."""
    calls = [c for (c, *others), _ in stage.history if not others and c.at != "hand" and c.method != "open"]
    pairs = ((first, other) for first, other in itertools.combinations(calls, 2) if first.said != other.said)
    alike = ((first, other) for first, other in pairs if (first.at, first.method) == (other.at, other.method))
    return {(first.said, f"but {name}", other.said) for first, other in alike if (name := _differs_in(first, other))}


def _differs_in(first: Called, other: Called) -> str:
    """The only argument in which two calls differ; empty if there is none or several."""
    if first.params.keys() != other.params.keys():
        return ""
    names = [name for name, value in first.params.items() if repr(value) != repr(other.params[name])]
    return names[0] if len(names) == 1 else ""
