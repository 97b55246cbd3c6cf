"""Old stories, told anew: scripts of the corpus, crossed, cut short, continued, interrupted, by a clock that jumps.

A script leads to a state that somebody once thought of. Nobody thought of the states beside it: the steps of another
script in between, a call of the generator's, a restart, a call made twice or a thousand times. The model knows the
right answer there, too.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from busproof.bus.fleet import Fleet
from busproof.contract.common import T0_MS
from busproof.play.explore import corpus
from busproof.play.explore.drawing import NOW_MS_LAST
from busproof.play.explore.recall import Recall
from busproof.play.explore.script import MS_WAITED, SECONDS_WAITED, Step
from busproof.play.explore.search import Draw, Program, playing, somewhere
from busproof.play.explore.stage import Generator, Specification, Stage
from busproof.play.explore.vary import VISITOR

MADE_OFTEN_MAX = 60  # calls of a story by `many`: a volume that is retold takes seconds
APART = 20  # the places of the second story's processes, if it has its own
CLOCK_JUMPS_MS = (-3_600_000, -60_000, -1_000, -1, 1, 999, 60_001, 400_000)
# Of a step: drawn ones behind it, it again, one that others have changed, an end or a visit before it, a jump.
RATES = (0.3, 0.15, 0.15, 0.15, 0.15)
CROWDED, CROWD, SMALL_CHARS = 0.05, 1_050, 400
WAITS_UNASKED = {"sync": "wait_seconds"}  # for a minute: the news that it has in its story may be missing here
OWN = ("client_message_id", "task_id", "submission")  # keys that a caller chose, beside `id`


def teller(system: str, corpus_of: Mapping[str, Sequence[Step]] | None = None) -> Draw:
    """Draws programs of a system that tell its corpus (or another one) anew, and plays them."""
    scripts = corpus.scripts(system) if corpus_of is None else corpus_of
    stories = {name: steps for name, steps in scripts.items() if _made_often(steps) <= MADE_OFTEN_MAX}

    def tell(
        fleet: Fleet, specification: Specification, seed: int, length: int, dialects: dict[str, str] | None
    ) -> Program:
        program, dice = Program(seed), random.Random(f"retold {seed}")
        with Stage(fleet, specification, dialects) as stage:
            telling = _Telling(stage, specification.generator(random.Random(seed), stage.features), dice, length)
            playing(program, stage, telling.steps(stories))
        return program

    return tell


def _made_often(steps: Sequence[Step]) -> int:
    return sum(step.times * max(1, len(step.calls)) for step in steps if step.do == "many")


@dataclass
class _Telling:
    """One program: the steps between those of a story depend on the dice."""

    stage: Stage
    generator: Generator
    dice: random.Random
    length: int

    def steps(self, stories: Mapping[str, Sequence[Step]]) -> Iterator[Step]:
        """The steps of a story, or two, and others in between."""
        yield from somewhere(self.dice)
        yield from self.generator.start()
        recall = Recall(self.stage, self.dice)
        drawn, again, recalled, stops, jumps = (self.dice.choice((0.0, 0.0, rate)) for rate in RATES)
        story = _in_steps_of_time(self._chosen(stories))
        jumped_ms = 0
        for step in story:
            if step.do == "clock":
                yield self._clock(step.params["by_ms"] - jumped_ms)
                jumped_ms = 0
                continue
            if self._falls(jumps):
                jump_ms = self.dice.choice(CLOCK_JUMPS_MS)
                jumped_ms += jump_ms
                yield self._clock(jump_ms)
            if step.do in ("call", "race", "wait") and self._falls(stops):
                yield self._stop(step)
            place = len(self.stage.history)
            yield step
            recall.note(step, place)
            if step.do == "call" and isinstance(step.at, int) and self._falls(again):
                yield replace(step, name="")
            if self._falls(recalled) and (other := recall.changed()) is not None:
                yield other
            while self._falls(drawn):
                yield self._drawn()
        for _ in range(self.dice.choice((1, 1, self.length // 4))):
            yield self._drawn()
        yield from self.generator.end()

    def _chosen(self, stories: Mapping[str, Sequence[Step]]) -> list[Step]:
        names = sorted(stories)
        steps = self._told(stories[self.dice.choice(names)], "a")
        if self._falls(0.5):
            other = self._told(stories[self.dice.choice(names)], "b")
            steps = _crossed(steps, _apart(other) if self._falls(0.4) else other, self.dice)
        if self._falls(0.3):  # under the options that the generator drew
            steps = [step for step in steps if step.do != "open" or step.at not in self.stage.places]
        return _crowded(steps, self.dice) if self._falls(CROWDED) else steps

    def _told(self, story: Sequence[Step], prefix: str) -> list[Step]:
        """The story's first steps, or all, under names of their own."""
        length = self.dice.choice((self.length, self.dice.randint(5, self.length)))
        return [_named(step, prefix) for step in story[:length]]

    def _falls(self, rate: float) -> bool:
        return self.dice.random() < rate

    def _drawn(self) -> Step:
        return self.generator.draw(self.stage.model, self.stage.now_ms)

    def _clock(self, by_ms: int) -> Step:
        return Step("clock", params={"now_ms": min(max(0, self.stage.now_ms + by_ms), NOW_MS_LAST)})

    def _stop(self, step: Step) -> Step:
        """Its caller is killed and begins anew, or a newcomer opens the store."""
        callers = [c.at for c in step.calls or [step] if isinstance(c.at, int)]
        if callers and self._falls(0.6):
            return Step("restart", callers[0], params={"kill": True})
        return Step("open", VISITOR)


def _crowded(steps: list[Step], dice: random.Random) -> list[Step]:
    """One call is made so often that nobody looks at all of its results in one go."""
    places = [n for n, step in enumerate(steps) if _is_small(step)]
    if not places:
        return steps
    place = dice.choice(places)
    step = steps[place]
    many = replace(step, do="many", name=f"{step.name}.many", params=_each_its_own(step.params), times=CROWD)
    return [*steps[: place + 1], many, *steps[place + 1 :]]


def _is_small(step: Step) -> bool:
    """Is it a call that is soon done, even so many times?"""
    is_call = step.do == "call" and isinstance(step.at, int)
    waits = step.params.keys() & {*MS_WAITED, *SECONDS_WAITED}
    return is_call and not waits and len(repr(step.params)) < SMALL_CHARS


def _each_its_own(value: Any) -> Any:
    """Make the keys that a caller chose different in each call."""
    if not isinstance(value, dict) or "$" in value:
        return value
    return {
        key: f"{member}#" if isinstance(member, str) and (key == "id" or key.endswith(OWN)) else _each_its_own(member)
        for key, member in value.items()
    }


def _named(step: Step, prefix: str) -> Step:
    def of(value: Any) -> Any:
        if isinstance(value, dict):
            if "$" in value:
                return value | {"$": f"{prefix}{value['$']}"}
            return {key: of(member) for key, member in value.items()}
        return [of(member) for member in value] if isinstance(value, list) else value

    calls = [_named(c, prefix) for c in step.calls]
    name = f"{prefix}{step.name}" if step.name else ""
    params = step.params if step.do in ("open", "clock", "restart") else of(step.params)
    if (wait := WAITS_UNASKED.get(step.method)) is not None and params.get(wait) is None:
        params = {**params, wait: 0}
    return replace(step, name=name, params=params, calls=calls, tags=())


def _apart(steps: Iterable[Step]) -> list[Step]:
    """The same steps, by processes of their own."""

    def of(at: int | str) -> int | str:
        return at + APART if isinstance(at, int) else at

    return [replace(step, at=of(step.at), calls=[replace(c, at=of(c.at)) for c in step.calls]) for step in steps]


def _in_steps_of_time(steps: Iterable[Step]) -> Iterator[Step]:
    """Clocks tell only the time passed, for two stories have one time. Each counts from its own clock's last time."""
    stood: dict[str, int] = {}
    for step in steps:
        if step.do == "clock":
            whose = step.name[:1]
            by_ms = step.params["now_ms"] - stood.get(whose, T0_MS)
            stood[whose] = step.params["now_ms"]
            yield replace(step, params={"by_ms": by_ms})
        else:
            yield step


def _crossed(first: list[Step], other: list[Step], dice: random.Random) -> list[Step]:
    """Both stories, each in its order, a few steps at a time; or one after the other."""
    if dice.random() < 0.3:
        return [*first, *other]
    mixed, sides = list[Step](), [list(reversed(first)), list(reversed(other))]
    while all(sides):
        side = dice.choice(sides)
        for _ in range(dice.choice((1, 1, 3, 8))):
            if side:
                mixed.append(side.pop())
    return [*mixed, *(step for side in sides for step in reversed(side))]
