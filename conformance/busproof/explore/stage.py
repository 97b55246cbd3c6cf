"""A stage: one store, the processes on it, and every state of the model that what was seen allows.

Each answer is held against the model, whole. Where two calls were in the air at once, every order that explains the
answers stays possible until something decides. An answer that no state explains may still be another bus's dialect:
the history so far is judged again under each other choice before it counts as a mismatch.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import pickle
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from busproof.adapters.base import Door, DoorError, Lost, Refused
from busproof.adapters.hand import Hand
from busproof.catalogue import catalogue
from busproof.explore.script import Step, Unresolved, numbered, resolve
from busproof.fleet import NOW_MS_MAX, Fleet
from busproof.models.spec import Answer, Difference, DoesNotApply, Model, Refusal
from busproof.protocol import CONTRACTS

SENT_OFF_S = 0.012  # how long calls get to arrive at the lock; too short only makes a race less likely
ROUNDING = 0.99  # of a wait that was promised
LOOKED_S = 2.0  # who waits on for so long after something was brought has looked again, at its end at the latest
STATES_MAX = 24
ORDERS_MAX = 300  # of a race's parts
T0_MS = 1_768_053_600_000

_BAD_REQUEST = (-32600, -32602)


class Generator(Protocol):
    """Draws a program, step by step, for one store. Values of the bus's choice go into steps as they are (`Free`)."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None: ...

    def start(self) -> Iterable[Step]:
        """Opens the processes."""
        ...

    def draw(self, model: Any, now_ms: int) -> Step:
        """What matters in this state, at this time."""
        ...

    def end(self) -> Iterable[Step]:
        """A last look at everything."""
        ...


@dataclass
class Called:
    """A call and how it ended."""

    step: str
    at: int | str
    method: str
    params: dict[str, Any]
    now_ms: int
    seen: Any = None
    text: str = ""  # for people, where the door has one
    held: tuple[str, ...] = ()  # conditions, where they are measured
    took_s: float = 0.0


@dataclass(frozen=True)
class Specification:
    """What the search must know of a system."""

    system: str
    model: type[Model]
    hand: type[Hand]
    generator: type[Generator]
    things: Callable[[str, dict[str, Any]], Iterable[tuple[str, str]]]  # what a call touches: (kind, name)
    edges: tuple[str, ...] = ()  # tags that a corpus must hold
    methods: tuple[str, ...] = ()  # of the protocol, that it can call
    needs_clock: bool = True  # do programs set the bus's time?
    closer: dict[str, tuple[tuple[int | str, str], ...]] = field(
        default_factory=dict
    )  # a method → where its doing shows
    conditions: Callable[[Any, Called], Iterable[str]] = lambda model, called: ()  # that hold when a call is made
    answer_s_max: float = 10.0  # guards against a hang alone


Schedules = tuple[tuple[int, ...], ...]  # in which order the parts of calls by number may have been done


class Mismatch(Exception):
    """The bus did what no state of the model allows."""

    def __init__(self, step: Step, called: list[Called], difference: Difference, expected: list[str]) -> None:
        super().__init__(str(difference))
        self.step, self.called, self.difference, self.expected = step, called, difference, expected
        self.state = ""  # in words

    @property
    def is_of_a_race(self) -> bool:
        """Then luck may have had a hand in it."""
        return self.step.do in ("race", "wait")

    @property
    def rows(self) -> tuple[str, ...]:
        """The sentences that are broken, by id."""
        return self.difference.rows

    @property
    def kind(self) -> tuple[str, ...]:
        """What makes two mismatches the same one: the calls, and where they differ."""
        return (*sorted(one.method for one in self.called), self.difference.path.partition("[")[0])

    def told(self) -> str:
        """Both answers, for a reader."""
        lines = []
        for one, expected in itertools.zip_longest(self.called, self.expected, fillvalue=""):
            assert isinstance(one, Called)
            lines += [
                f"process {one.at}: {one.method} {one.params!a:.600} at {one.now_ms} ms",
                f"  model: {expected}",
                f"  bus:   {one.seen!s:.900}",
            ]
        return "\n".join([*lines, f"  {self.difference}"])


@dataclass
class Seen:
    """What happened on a stage, for coverage: (method, outcome) by thing, rows, and how much."""

    calls: int = 0
    skipped: int = 0
    undecided: int = 0  # races with more orders than can be tried
    pairs: set[tuple[str, ...]] = field(default_factory=set)
    meetings: set[tuple[str, ...]] = field(default_factory=set)  # method and outcome, and two conditions that held
    tags: set[str] = field(default_factory=set)
    rows: set[str] = field(default_factory=set)


class Stage:
    """Play steps on a fresh store. A context manager; `do` raises Mismatch."""

    def __init__(
        self,
        fleet: Fleet,
        specification: Specification,
        dialects: dict[str, str] | None = None,
        *,
        is_measured: bool = False,
    ) -> None:
        self.fleet, self.specification, self.is_measured = fleet, specification, is_measured
        self.dialects = {} if dialects is None else dialects
        hello = fleet.hello
        self.features = frozenset({*hello.nouns, *hello.features})
        self.limits = hello.limits
        self.learnt: dict[str, Mismatch] = {}  # dialects by name, and what would be wrong without them
        self.states = [self._new_model()]
        self.history: list[tuple[list[Called], Schedules]] = []
        self.now_ms = T0_MS
        self.seen = Seen()
        self._last: dict[tuple[str, str], str] = {}
        self._doors: dict[int, Door] = {}
        self._options: dict[int, dict[str, Any]] = {}
        self._clocks: dict[int, int] = {}
        self._methods = CONTRACTS[specification.system].methods
        self._rows = catalogue(specification.system)
        self._has_clock = hello.clock == "manual"
        self._declares_all = self.features | hello.limits.keys() >= specification.model.EVERYTHING

    def __enter__(self) -> Stage:
        self.folder = Path(tempfile.mkdtemp(prefix="busproof-"))
        self.store = self.folder / "store"
        self.store.mkdir()
        self.hand = self.specification.hand(self.store)
        return self

    def __exit__(self, *_: object) -> None:
        self.hand.close()
        for at in list(self._doors):
            self._leave(at)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def model(self) -> Model:
        """The state that a generator looks at; the first of those that are possible."""
        return self.states[0]

    def do(self, step: Step) -> None:
        """Play one step. What the bus lacks (a method, so late a time), or what was never born: it is left out."""
        try:
            getattr(self, f"_do_{step.do}")(step)
        except Unresolved:
            self.seen.skipped += 1
            return
        self.seen.tags.update(step.tags)

    # -- the kinds of steps

    def _do_clock(self, step: Step) -> None:
        if step.params["now_ms"] > self.limits.get(NOW_MS_MAX, step.params["now_ms"]):
            raise Unresolved
        self.now_ms = step.params["now_ms"]

    def _do_open(self, step: Step) -> None:
        assert isinstance(step.at, int)
        self._leave(step.at)
        self._enter(step.at, step)

    def _do_restart(self, step: Step) -> None:
        assert isinstance(step.at, int)
        if step.at in self._doors:
            self._leave(step.at, kill=bool(step.params.get("kill")))
            self._enter(step.at, step)

    def _do_call(self, step: Step) -> None:
        called = self._prepared(step)
        if called is not None:
            called.seen = self._send(called)
            self._judge(step, [called])

    def _do_many(self, step: Step) -> None:
        """The same call so many times, "#" in its texts being the number; or the same calls, one after the other."""
        for n in range(step.times):
            for number, one in enumerate(step.calls or [step]):
                name = f"{step.name}.{n}.{number}" if step.calls else f"{step.name}.{n}"
                self._do_call(Step("call", one.at, one.method, numbered(one.params, n), name))

    def _do_race(self, step: Step) -> None:
        calls = [self._prepared(one) for one in step.calls]
        inside = [one for one in calls if one is not None and one.at == "hand"]
        racing = [one for one in calls if one is not None and one.at != "hand"]
        if (
            None in calls
            or not racing
            or len({one.at for one in racing}) < len(racing)
            or "sqlite" not in self.features
        ):
            self.seen.skipped += 1
            return
        if _too_many_orders(self.model, racing):
            self.seen.undecided += 1
            return
        self._look(step)  # what was wrong before is not blamed on the race
        self.hand.hold()
        try:
            threads = [self._sent_off(one) for one in racing]
            time.sleep(SENT_OFF_S)
            for one in inside:
                one.seen = self.hand.call(one.method, one.params)
        finally:
            self.hand.let_go()
        for thread in threads:
            thread.join()
        self._judge(step, [*inside, *racing])
        self._look(step)

    def _do_wait(self, step: Step) -> None:
        """The first call waits for something; the others, of another process or the hand's, bring it or do not."""
        waiting, *others = [self._prepared(one) for one in step.calls]
        if waiting is None or None in others or any(one and one.at == waiting.at for one in others):
            self.seen.skipped += 1
            return
        bringing = [one for one in others if one is not None]
        thread = self._sent_off(waiting)
        time.sleep(SENT_OFF_S)
        for one in bringing:
            one.seen = self._send(one)
        brought_s = time.monotonic()
        thread.join()
        has_looked = time.monotonic() - brought_s > LOOKED_S
        numbers = tuple(range(1, 1 + len(bringing)))
        # Any but the last may be done before something is brought; of a single one, unless it looked again for sure.
        parts = max(_parts(self.model, waiting), 1 if has_looked else 2)
        self._judge(step, [waiting, *bringing], tuple((0,) * done + numbers for done in reversed(range(parts))))

    # -- sending

    def _prepared(self, step: Step) -> Called | None:
        params = resolve(step.params, self.model.frees)
        if step.at != "hand":
            if step.at not in self._doors:
                return None
            known = self._methods.get(step.method)
            if known and not {known.noun, known.feature} - {None} <= self.features:
                return None
        elif "sqlite" not in self.features:
            return None
        called = Called(step.name, step.at, step.method, params, self.now_ms)
        if self.is_measured and step.at != "hand":
            called.held = tuple(sorted({*self.specification.conditions(self.model, called)}))
        return called if self._declares_all or self._applies(called) else None

    def _applies(self, called: Called) -> bool:
        """Does the bus declare every row of the branch that this call takes?"""
        trial = copy_of(self.model)
        try:
            answer = trial.call(called.step, called.at, called.method, called.params, called.now_ms)
        except DoesNotApply:
            return False
        return all(
            {row.noun, *row.needs} - {"clock"} <= self.features for row in map(self._rows.get, answer.rows) if row
        )

    def _send(self, called: Called) -> Any:
        self.seen.calls += 1
        if called.at == "hand":
            try:
                return self.hand.call(called.method, called.params)
            except (sqlite3.Error, OSError) as error:  # there is no such file yet, or no room
                raise Unresolved(str(error)) from error
        assert isinstance(called.at, int)
        door = self._doors[called.at]
        try:
            if self._has_clock and self._clocks.get(called.at) != called.now_ms:
                door.call("clock.set", {"now_ms": called.now_ms}, timeout_s=self.specification.answer_s_max)
                self._clocks[called.at] = called.now_ms
            began = time.monotonic()
            try:
                return door.call(called.method, called.params, timeout_s=self.specification.answer_s_max)
            finally:
                called.took_s = time.monotonic() - began
                called.text = getattr(door, "text", "")
        except Refused as error:
            code = "INVALID_ARGUMENT" if error.rpc in _BAD_REQUEST else error.code
            return Refusal(code, error.definite, error.message)
        except Lost as error:
            self._leave(called.at, kill=True)
            return Refusal("LOST", False, f"no answer: {error}")

    def _sent_off(self, called: Called) -> threading.Thread:
        def send() -> None:
            called.seen = self._send(called)

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        return thread

    def _enter(self, at: int, step: Step) -> None:
        """A process at this place, on the store. Options that the bus does not declare are left out."""
        if step.do == "open":
            self._options[at] = self.model.options_declared(step.params.get("options", {}))
        called = Called(step.name, at, "open", {"options": self._options[at]}, self.now_ms)
        try:
            self._doors[at] = self.fleet.door(at, self.store, self._options[at])
            called.seen = {}
        except Refused as error:
            called.seen = Refusal(error.code, error.definite, error.message)
        except DoorError as error:
            called.seen = Refusal("LOST", False, str(error))
        self._judge(step, [called])

    def _leave(self, at: int, *, kill: bool = False) -> None:
        door = self._doors.pop(at, None)
        self._clocks.pop(at, None)
        if door is not None:
            self.fleet.give_back(door, retired=kill)

    def _look(self, step: Step) -> None:
        """The whole dump, where the bus has one."""
        at = next(iter(self._doors), None)
        if at is not None and "dump" in self.features:
            called = Called(step.name + ".look", at, "dump", {}, self.now_ms)
            called.seen = self._send(called)
            self._judge(step, [called])
        elif self.hand.LOOK:
            self._do_call(Step("call", "hand", self.hand.LOOK, name=step.name + ".look"))

    # -- judging

    def _judge(self, step: Step, calls: list[Called], schedules: Schedules = ()) -> None:
        self.history.append((calls, schedules))
        states, tried = _after(self.states, calls, schedules)
        if not states:
            expected, difference = tried
            is_isolation = len(calls) > 1 and _each_alone(self.states, calls, schedules)
            if is_isolation:
                difference = replace(difference, rows=(*difference.rows, *self.model.ISOLATED))
            mismatch = Mismatch(step, calls, difference, expected)
            mismatch.state = self.model.in_words()
            if is_isolation and not self.learnt:
                raise mismatch  # each answer is one that was to be expected: no other choice explains them
            states = self._under_another_dialect(self._closer(mismatch))
        if len(states) > 1:
            different = {state.fingerprint(): state for state in reversed(states)}
            states = list(reversed(different.values()))[:STATES_MAX]
        self.states = states
        self._keep_secrets(step, calls)
        self._note(calls, tried[0])
        wanted = self.model.wants_look()
        if wanted == "dump":
            self._look(step)
        elif wanted is not None:
            self._do_call(Step("call", "hand", wanted, name=step.name + ".look"))

    def _closer(self, mismatch: Mismatch) -> Mismatch:
        """What a call left behind may tell more than its reply: a number is wrong, but which thing is it?"""
        called = mismatch.called[0]
        if len(mismatch.called) > 1 or len(self.states) > 1 or isinstance(called.seen, Refusal):
            return mismatch
        for at, method in self.specification.closer.get(called.method, ()):
            looking = self._prepared(Step("call", at, method, name=mismatch.step.name + ".closer"))
            if looking is None:
                continue
            with contextlib.suppress(Unresolved):
                looking.seen = self._send(looking)
                expected, difference = _played(copy_of(self.model), [looking], ())
                if difference is not None:
                    self.history.append(([looking], ()))  # a choice must explain this, too
                    told = [*mismatch.expected, str(expected[0])]
                    closer = Mismatch(mismatch.step, [called, looking], difference, told)
                    closer.state = mismatch.state
                    return closer
        return mismatch

    def _keep_secrets(self, step: Step, calls: list[Called]) -> None:
        """What one agent alone may know stands in no answer that another one gets."""
        for one in calls if self.model.secrets else ():
            leak = one.at != "hand" and self.model.leak(one.at, f"{one.seen!r} {one.text}".lower(), repr(one.params))
            if leak:
                raise Mismatch(step, [one], leak, ["an answer without it"])

    def end(self) -> None:
        """Nor in a file beside the tables, nor in what a process wrote for people."""
        if not self.model.secrets:
            return
        words = {str(at): door.stderr for at, door in self._doors.items()}
        for path in self.store.rglob("*"):
            if path.is_file() and not path.name.startswith(self.model.KEEPS_SECRETS or "/"):
                words[path.name] = path.read_bytes().decode("utf-8", "replace")
        for place, text in words.items():
            if leak := self.model.leak(place, text.lower()):
                raise Mismatch(Step("end"), [], leak, [])

    def _under_another_dialect(self, mismatch: Mismatch) -> list[Model]:
        """The states under another choice for what was consulted so far, if one explains everything seen."""
        consulted: dict[str, tuple[str, ...]] = {}
        for state in self.states:
            consulted |= state.consulted
        for name, options in consulted.items():
            for option in options[1:] if name not in self.dialects else ():
                trial = {**self.dialects, name: option}
                states = [self._new_model(trial)]
                for calls, schedules in self.history:
                    states, _ = _after(states, calls, schedules)
                    if not states:
                        break
                if states:
                    self.dialects[name], self.learnt[name] = option, mismatch
                    return states
        # Choices explain all that comes, or they were none: then what led to the first of them counts.
        first = next(iter(self.learnt.values()), mismatch)
        for name in self.learnt:
            del self.dialects[name]
        self.learnt.clear()
        raise first

    def _new_model(self, dialects: dict[str, str] | None = None) -> Model:
        return self.specification.model(self.features, self.limits, self.dialects if dialects is None else dialects)

    def _note(self, calls: list[Called], expected: list[str]) -> None:
        for one in calls:
            if one.at == "hand" or one.step.endswith(".look"):
                continue
            outcome = one.seen.code if isinstance(one.seen, Refusal) else "ok"
            said = one.method if outcome == "ok" else f"{one.method}:{outcome}"
            self.seen.meetings.update((said, *two) for two in itertools.combinations(one.held, 2))
            for kind, name in self.specification.things(one.method, one.params):
                before = self._last.get((kind, name))
                if before is not None:
                    self.seen.pairs.add((kind, before, said))
                self._last[kind, name] = said
        for state in self.states[:1]:
            self.seen.rows.update(state.last_rows)


def copy_of(state: Model) -> Model:
    """Another one like it; several times as fast as copy.deepcopy."""
    copied: Model = pickle.loads(pickle.dumps(state, pickle.HIGHEST_PROTOCOL))
    return copied


def _after(
    states: list[Model], calls: list[Called], schedules: Schedules = ()
) -> tuple[list[Model], tuple[list[str], Difference]]:
    """The states in which these calls, in the air at once, ended as they did; and what was tried, if none."""
    tried: tuple[list[str], Difference] = ([], Difference("reply", "?", "?"))
    found: list[Model] = []
    is_alone = len(states) == 1 and len(calls) == 1
    for state in states:
        for schedule in schedules or _schedules(state, calls):
            model = state if is_alone else copy_of(state)
            expected, difference = _played(model, calls, schedule)
            if difference is None:
                found.append(model)
            elif not tried[0]:
                tried = ([str(expected.get(number, "")) for number in range(len(calls))], difference)
    return found, tried


def _schedules(state: Model, calls: list[Called]) -> Iterator[tuple[int, ...]]:
    """Every order of the calls' atomic parts. What the hand does inside the lock comes before all that wait for it."""
    if len(calls) == 1:
        yield ()
        return
    counts = {number: _parts(state, one) for number, one in enumerate(calls)}
    first = tuple(number for number, one in enumerate(calls) if one.at == "hand")
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


def _too_many_orders(state: Model, calls: list[Called]) -> bool:
    """More than can be tried? Such a race could not be judged."""
    counts = [_parts(state, one) for one in calls if one.at != "hand"]
    return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts)) > ORDERS_MAX


def _parts(state: Model, called: Called) -> int:
    """How many atomic parts a call has in this state."""
    model = copy_of(state)
    parts = model.steps(called.step, called.at, called.method, called.params, called.now_ms)
    return sum(1 for _ in parts)


def _each_alone(states: list[Model], calls: list[Called], schedules: Schedules) -> bool:
    """Is each answer right in some order, though no order makes all of them right? Then calls did not stay apart."""
    return all(
        any(
            _played(copy_of(state), calls, schedule, {number})[1] is None
            for state in states
            for schedule in schedules or _schedules(state, calls)
        )
        for number in range(len(calls))
    )


def _played(
    model: Model, calls: list[Called], schedule: tuple[int, ...], of: Container[int] = range(sys.maxsize)
) -> tuple[dict[int, Answer], Difference | None]:
    """Run the calls' parts in this order, what is left of them in turn; hold each answer (or some) against what was
    seen."""
    running = {
        number: model.steps(one.step, one.at, one.method, one.params, one.now_ms) for number, one in enumerate(calls)
    }
    expected: dict[int, Answer] = {}
    for number in itertools.chain(schedule, itertools.cycle(range(len(calls)))):
        if len(expected) == len(calls):
            break
        if number in expected:
            continue
        with contextlib.suppress(StopIteration):
            try:
                answer = next(running[number])
            except DoesNotApply as error:  # under another choice, or in another state, than the call was judged fit in
                return expected, Difference("reply", "a call of what the bus declares", str(error))
            if answer is None:
                continue
            expected[number] = answer
            model.last_rows = answer.rows
            difference = answer.differs(calls[number].seen) or _too_soon(answer, calls[number])
            if difference is not None and number in of:
                return expected, difference
    return expected, None


def _too_soon(answer: Answer, called: Called) -> Difference | None:
    """Lower bounds alone: no load can make a bus answer early."""
    if called.took_s >= answer.least_s * ROUNDING:
        return None
    return Difference("time", f"{answer.least_s:g} s at least", f"{called.took_s:.3f} s", answer.rows)
