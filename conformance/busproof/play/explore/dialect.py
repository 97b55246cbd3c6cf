"""A bus's choices where the seed is silent, learnt from its answers.

A choice explains a history if a model that makes it allows every answer. Often one is enough; a bus that chose
otherwise in two things at once, or hid one choice until another had been seen, needs several. So the search goes on
from every choice that brings it farther, or that at least changes the difference; a choice that changes nothing, or
contradicts earlier explanations, leads nowhere.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from busproof.oracle.models.spec import Difference, DoesNotApply, Model
from busproof.play.explore.orders import STATES_MAX, Called, Schedules, after, copy_of, distinct

History = list[tuple[list[Called], Schedules]]
Make = Callable[[dict[str, str]], Model]  # a new model that makes these choices

TRIALS_MAX = 200  # beyond those of one choice
CALLS_MAX = 60_000  # of all such trials: a long history gets fewer


@dataclass
class Trial:
    """How far some choices explain a history."""

    dialects: dict[str, str]
    states: list[Model] = field(default_factory=list)  # that the history allows; none: it is not explained
    reached: int = 0  # entries of the history that are explained
    difference: Difference | None = None  # in the next one
    consulted: dict[str, tuple[str, ...]] = field(default_factory=dict)


def tried(make: Make, history: History, dialects: dict[str, str]) -> Trial:
    """The history, held against a model that makes these choices."""
    trial = Trial(dialects, [make(dialects)])
    for calls, schedules in history:
        states, difference = _after(trial.states, calls, schedules, trial.consulted)
        trial.states = distinct(states)[:STATES_MAX]
        if not states:
            trial.difference = difference
            return trial
        trial.reached += 1
    return trial


def _after(
    states: list[Model], calls: list[Called], schedules: Schedules, consulted: dict[str, tuple[str, ...]] | None = None
) -> tuple[list[Model], Difference]:
    """The states, and the difference if there are none. A call that another choice would not ask explains nothing."""
    try:
        states, (_, difference) = after(states, calls, schedules, consulted)
    except DoesNotApply as error:
        return [], Difference("reply", "a call of what the bus declares", str(error))
    return states, difference


def explained(make: Make, history: History, known: dict[str, str], learnt: dict[str, str]) -> Trial | None:
    """Choices that explain all of it: those known stay, those learnt from this history alone may be wrong."""
    order = itertools.count()
    queue = [_ranked(tried(make, history, start), order) for start in ({**known, **learnt}, known)]
    for *_, trial in queue:
        if trial.states:
            return trial
    seen = {frozenset(trial.dialects.items()) for *_, trial in queue}
    starts, left = len(queue), min(TRIALS_MAX, CALLS_MAX // len(history))
    heapq.heapify(queue)
    for number in itertools.count():
        if not queue or not left:
            return None
        *_, best = heapq.heappop(queue)
        for dialects in _next(best):
            if not left or (key := frozenset(dialects.items())) in seen:
                continue
            seen.add(key)
            left -= number >= starts
            trial = tried(make, history, dialects)
            if trial.states:
                return trial
            if trial.reached > best.reached or _is_other(trial, best):
                heapq.heappush(queue, _ranked(trial, order))
    return None


def of_two_minds(make: Make, history: History, dialects: dict[str, str], since: int) -> str:
    """A choice that explained the earlier history, if only another one explains the rest: then it was no choice."""
    before = tried(make, history[:since], dialects)
    for name, chosen in dialects.items():
        for option in before.consulted.get(name, ("",)):
            states = [copy_of(state) for state in before.states] if option != chosen else []
            for state in states:
                state.dialects = {**dialects, name: option} if option else _without(dialects, name)
            for calls, schedules in history[since:]:
                states, _ = _after(states, calls, schedules)
            if states:
                return name
    return ""


def _without(dialects: dict[str, str], name: str) -> dict[str, str]:
    return {other: option for other, option in dialects.items() if other != name}


def _next(trial: Trial) -> Iterable[dict[str, str]]:
    """One choice more, of those that the model asked for."""
    for name, options in trial.consulted.items():
        if name not in trial.dialects:
            yield from ({**trial.dialects, name: option} for option in options[1:])


def _is_other(trial: Trial, than: Trial) -> bool:
    return trial.reached == than.reached and trial.difference != than.difference


def _ranked(trial: Trial, order: Iterable[int]) -> tuple[int, int, int, Trial]:
    """The farthest first, and of those the one with the fewest choices."""
    return -trial.reached, len(trial.dialects), next(iter(order)), trial
