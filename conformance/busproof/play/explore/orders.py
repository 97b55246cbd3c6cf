"""Calls that were in the air at once: every order of their parts that explains their ends.

If two orders fit, both states stay possible until something decides.
"""

from __future__ import annotations

import itertools
import math
import pickle
import sys
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from busproof.oracle.models.spec import Answer, Difference, DoesNotApply, Model, Refusal

ROUNDING = 0.99  # of a wait that was promised
STATES_MAX = 64  # that are followed
ORDERS_MAX = 300  # of a race's parts


@dataclass
class Called:
    """A call and how it ended."""

    step: str
    at: int | str
    method: str
    params: dict[str, Any]
    now_ms: int
    seen: Any = None
    text: str = ""  # for people, if the door has one
    held: tuple[str, ...] = ()  # conditions, if they are measured
    took_s: float = 0.0

    @property
    def said(self) -> str:
        """The method, and the code of a refusal."""
        return f"{self.method}:{self.seen.code}" if isinstance(self.seen, Refusal) else self.method


Schedules = tuple[tuple[int, ...], ...]  # in which order the parts of calls by number may have been done


def copy_of(state: Model) -> Model:
    """Another one like it; several times as fast as copy.deepcopy."""
    copied: Model = pickle.loads(pickle.dumps(state, pickle.HIGHEST_PROTOCOL))
    return copied


def distinct(states: list[Model]) -> list[Model]:
    """Those that a later answer may tell apart."""
    if len(states) < 2:
        return states
    different = {state.fingerprint(): state for state in reversed(states)}
    return list(reversed(different.values()))


def after(
    states: list[Model],
    calls: list[Called],
    schedules: Schedules = (),
    consulted: dict[str, tuple[str, ...]] | None = None,
) -> tuple[list[Model], tuple[list[str], Difference]]:
    """The states in which these calls, in the air at once, ended as they did; and the trial, if there are none.

    `consulted` gathers the choices that were asked for, in the models that fit and in the others.

    Raises:
        DoesNotApply: in some order that fits until then a call is not asked. Nobody knows whether that was the order.
    """
    tried: tuple[list[str], Difference] = ([], Difference("reply", "?", "?"))
    fitting: list[Model] = []
    is_alone = len(calls) == 1 and len(schedules) < 2
    for state in states:
        alone = is_alone and not state.may_ask_either()
        for model, expected, difference in _ways(state, calls, schedules, is_alone=alone):
            if consulted is not None:
                consulted |= model.consulted
            if difference is None:
                fitting.append(model)
            elif not tried[0]:
                tried = ([str(expected.get(number, "")) for number in range(len(calls))], difference)
    return fitting, tried


def _ways(
    state: Model, calls: list[Called], schedules: Schedules, *, is_alone: bool
) -> Iterator[tuple[Model, dict[int, Answer], Difference | None]]:
    """Every schedule, each with the possible values of `either`. Alone, the state itself goes on, and not a copy."""
    ended: tuple[int, ...] = ()  # the played beginning of the last one: schedules with it end the same
    packed = b"" if is_alone else pickle.dumps(state, pickle.HIGHEST_PROTOCOL)  # once for all schedules
    for schedule in schedules or _schedules(state, calls):
        if ended and schedule[: len(ended)] == ended:
            continue
        done = 0
        to_try: list[tuple[bool, ...]] = [()]
        for luck in to_try:
            model: Model = state if is_alone else pickle.loads(packed)
            model.luck, model.asked = luck, 0
            expected, difference, parts = played(model, calls, schedule)
            yield model, expected, difference
            done = max(done, parts)
            to_try += [(*luck, *(False,) * (n - len(luck)), True) for n in range(len(luck), model.asked)]
        ended = schedule[:done]


def _schedules(state: Model, calls: list[Called]) -> Iterator[tuple[int, ...]]:
    """Every order of the calls' atomic parts. The hand's calls inside the lock come before all that wait for it."""
    if len(calls) == 1:
        yield ()
        return
    counts = {number: parts_of(state, called) for number, called in enumerate(calls)}
    first = tuple(number for number, called in enumerate(calls) if called.at == "hand")
    for number in first:
        counts[number] = 0
    yield from ((*first, *order) for order in _orders(counts))


def _orders(counts: dict[int, int]) -> Iterator[tuple[int, ...]]:
    """Every order in which so many parts of each call may come."""
    if not any(counts.values()):
        yield ()
    for number, count in counts.items():
        if count:
            yield from ((number, *rest) for rest in _orders({**counts, number: count - 1}))


def too_many_orders(state: Model, calls: list[Called]) -> bool:
    """Are there more orders than can be tried? Such a race could not be judged."""
    counts = [parts_of(state, called) for called in calls if called.at != "hand"]
    return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts)) > ORDERS_MAX


def parts_of(state: Model, called: Called) -> int:
    """How many atomic parts a call has in this state."""
    model = copy_of(state)
    parts = model.steps(called.step, called.at, called.method, called.params, called.now_ms)
    return sum(1 for _ in parts)


def each_alone(states: list[Model], calls: list[Called], schedules: Schedules) -> bool:
    """Is each answer right in some order, though no order makes all of them right? Then calls did not stay apart."""

    def is_right(state: Model, schedule: tuple[int, ...], number: int) -> bool:
        try:
            return played(copy_of(state), calls, schedule, {number})[1] is None
        except DoesNotApply:
            return False

    return all(
        any(is_right(state, schedule, number) for state in states for schedule in schedules or _schedules(state, calls))
        for number in range(len(calls))
    )


def played(
    model: Model, calls: list[Called], schedule: tuple[int, ...], of: Container[int] = range(sys.maxsize)
) -> tuple[dict[int, Answer], Difference | None, int]:
    """Run the calls' parts in this order, the rest of them in turn; compare each answer (or some) with the one that was
    seen. Also the number of places of the order that this took. Raises DoesNotApply at a call that is not asked there.
    """
    running = {number: model.steps(c.step, c.at, c.method, c.params, c.now_ms) for number, c in enumerate(calls)}
    expected: dict[int, Answer] = {}
    for place, number in enumerate(itertools.chain(schedule, itertools.cycle(range(len(calls)))), start=1):
        if len(expected) == len(calls):
            break
        if number in expected:
            continue
        answer = next(running[number])
        if answer is None:
            continue
        expected[number] = answer
        difference = answer.differs(calls[number].seen) or _too_soon(answer, calls[number])
        if difference is not None and number in of:
            return expected, difference, place
        model.last_rows = answer.held(calls[number].seen)
    return expected, None, place


def _too_soon(answer: Answer, called: Called) -> Difference | None:
    """Lower bounds alone: no load can make a bus answer early."""
    if called.took_s >= answer.least_s * ROUNDING:
        return None
    least, took = told_apart(answer.least_s, called.took_s)
    return Difference("time", f"{least} s at least", f"{took} s", answer.rows)


def told_apart(*figures: float) -> tuple[str, ...]:
    """Different figures with so many digits that they differ: three behind the point, if that is enough."""
    for digits in range(3, 10):
        texts = tuple(f"{figure:.{digits}f}" for figure in figures)
        if len(set(texts)) == len(set(figures)):
            break
    return texts
