"""The limits of a run: it ends when its time is over, enough problems are known, or the user has seen enough.

A run that was cut short tells what it knows and what it left out. No row of an act that was cut short is green.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from buschaos.state import Problem

T = TypeVar("T")
INTERRUPTED = "interrupted"  # by the user
NOT_BEGUN = "not begun: "
LEAST_S = 1.0  # an operation is rehearsed first, then come its points


class Enough(Exception):
    """As many kinds of problems as were asked for are known."""


class Time:
    """How long something may take; without end if nobody set a limit. `is_sample`: a part of everything is enough."""

    def __init__(self, seconds: float | None = None, *, is_sample: bool = False) -> None:
        self._end_s = math.inf if seconds is None else time.monotonic() + seconds
        self.is_sample = is_sample

    @property
    def is_over(self) -> bool:
        """Nothing new is begun from here on."""
        return self.left_s <= 0

    @property
    def left_s(self) -> float:
        """Seconds; infinite if there is no end."""
        return max(0.0, self._end_s - time.monotonic())

    @property
    def is_limited(self) -> bool:
        """Is there an end?"""
        return self._end_s < math.inf

    def part(self, of: float, least_s: float = 0.0) -> Time:
        """The share of the next of so many parts still to come; time that one part does not need goes to the others.

        Less than the least is worth nothing: in that case the first parts have it, and the last have nothing.
        """
        seconds = min(self.left_s, max(self.left_s / of, least_s)) if self.is_limited else None
        return Time(seconds, is_sample=self.is_sample)

    def ordered(
        self, items: Sequence[T], seed: str, kind: Callable[[T], object] | None = None, *, few: int | None = None
    ) -> list[T]:
        """As they are; if not all may have their turn, in an order that the seed draws, one of each kind first.

        A sample is the first `few` of that order; None: all of it.
        """
        drawn = list(items)
        if not (self.is_limited or self.is_sample):
            return drawn
        random.Random(seed).shuffle(drawn)
        if kind is not None:
            firsts = set({kind(item): number for number, item in reversed(list(enumerate(drawn)))}.values())
            drawn = [drawn[number] for number in sorted(range(len(drawn)), key=lambda number: number not in firsts)]
        return drawn[:few] if self.is_sample else drawn


class Progress:
    """Hears of each step, each point and each problem as they come. This one is silent; `live.Live` is not."""

    def __init__(self, kinds_max: int | None = None) -> None:
        self._kinds_max, self._kinds, self.points = kinds_max, set[tuple[str, str]](), 0

    def say(self, text: str) -> None:
        """A step is done."""

    def tell(self, problem: Problem) -> None:
        """The first problem of its kind."""

    def point(self, count: int = 1) -> None:
        """One more point was judged, or so many."""
        self.points += count

    def found(self, problem: Problem, act: str) -> None:
        """A problem of an act. Raises Enough at the last kind asked for; a dialect does not count."""
        if problem.is_dialect or problem.kind in self._kinds:
            return
        self._kinds.add(problem.kind)
        self.tell(problem)
        if len(self._kinds) == self._kinds_max:
            raise Enough(f"as many kinds of problems as were asked for are known: {self._kinds_max}")
