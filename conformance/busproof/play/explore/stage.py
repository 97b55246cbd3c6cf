"""A stage: one store, the processes on it, and every state of the model that the observations allow.

Each answer is compared with the model, whole. If two calls were in the air at once, every order that explains the
answers stays possible until something decides. An answer that no state explains may still be another bus's dialect:
the history so far is judged again under other choices before it counts as a mismatch.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from busproof.bus import asleep
from busproof.bus.base import Door, DoorError, Lost, Refused
from busproof.bus.fleet import NOW_MS_MAX, Fleet
from busproof.bus.hand import Hand
from busproof.bus.scratch import scratch
from busproof.contract import CONTRACTS, PARSE_ERROR
from busproof.contract.catalogue import catalogue
from busproof.contract.common import T0_MS
from busproof.oracle.models.spec import Difference, DoesNotApply, Model, Moment, Refusal, Undecided
from busproof.play.explore.dialect import explained, of_two_minds, tried
from busproof.play.explore.orders import (
    STATES_MAX,
    Called,
    Schedules,
    after,
    copy_of,
    distinct,
    each_alone,
    parts_of,
    played,
    too_many_orders,
)
from busproof.play.explore.pulse import Pulse
from busproof.play.explore.script import Step, Unresolved, numbered, resolve
from busproof.play.explore.twin import Twin
from busproof.words import as_json, is_strict_json, one_line, shortened

SENT_OFF_S = 0.012  # how long calls get to arrive at a lock or in a wait, at the least
AT_LOCK_S_MAX = 0.25  # and at the most, if a process never sleeps; then a race is only less likely
LOOKED_S = 2.0  # a waiter of so long, on a machine that gives it time, has looked again, at its end at the latest
LOST = "LOST"  # the code of a call that was not answered

# Numbers, texts in quotation marks, and all from the beginning of a list or an object on.
_VALUES = re.compile(r"""\d+|"[^"]*"|'[^']*'|(?<=: )[\[{].*|^[\[{].*""", re.DOTALL)
# A value of the bus's choice, as the models write it (`Free`): by its class, until a bus has chosen.
_CHOSEN = re.compile(r"<(\w+) of the bus's choice>")
CHOSEN = {
    "above": "a higher number than those before",
    "anydue": "a time",
    "anyuuid": "a UUID",
    "copyname": "a name after those before",
    "digest": "a hash",
    "due": "a time",
    "free": "a value",
    "freshid": "a random UUID",
    "moment": "a time",
    "name": "the name of a consumer",
    "number": "a number",
    "ownid": "an id that no other has",
    "place": "a path",
    "shortid": "an id",
    "somename": "a name",
    "ticket": "a new receipt",
    "token": "a secret token",
    "unspent": "a base on which nothing was sent",
}
_BAD_REQUEST = (-32600, -32602)
_OF_ONE_MOMENT = {"publish_many", "stranger_publishes"}  # messages of one time, or of any
_EYES = {"clock", "sqlite", "dump"}  # a row needs them to be seen by a script of its own; no answer depends on them


class Generator(Protocol):
    """Draws a program, step by step, for one store. Values of the bus's choice go into steps as they are (`Free`)."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None: ...

    def start(self) -> Iterable[Step]:
        """Opens the processes."""
        ...

    def draw(self, model: Any, now_ms: int) -> Step:
        """Draw a step that matters in this state, at this time."""
        ...

    def end(self) -> Iterable[Step]:
        """A last look at everything."""
        ...


@dataclass(frozen=True)
class Specification:
    """The knowledge of the search about a system."""

    system: str
    model: type[Model]
    hand: type[Hand]
    generator: type[Generator]
    things: Callable[[str, dict[str, Any]], Iterable[tuple[str, str]]]  # the things that a call touches: (kind, name)
    edges: tuple[str, ...] = ()  # tags that a corpus must hold
    methods: tuple[str, ...] = ()  # of the protocol, that it can call
    needs_clock: bool = True  # is nothing to be judged on a bus whose clock is the machine's?
    closer: dict[str, tuple[tuple[int | str, str], ...]] = field(
        default_factory=dict
    )  # a method → where its effect shows
    conditions: Callable[[Any, Called], Iterable[str]] = lambda model, called: ()  # that hold when a call is made
    variants: tuple[str, ...] = ()  # programs of the reference (python -m …) with other promises, for figures of reach
    programs: int = 10  # of the search, each time that a bus is checked
    answer_s_max: float = 10.0  # guards against a hang alone


def _machine_ms() -> int:
    return time.time_ns() // 1_000_000


def _form(text: str) -> str:
    """A text without the values in it."""
    return _VALUES.sub("*", text)


def _for_a_reader(text: str) -> str:
    """A value that the bus may choose, in words."""
    return _CHOSEN.sub(lambda match: f"<{CHOSEN[match[1]]}>", text)


Form = tuple[str, tuple[str, ...]]  # of a mismatch: its cause and its rows


class Mismatch(Exception):
    """The bus did something that no state of the model allows."""

    def __init__(self, step: Step, called: list[Called], difference: Difference, expected: list[str]) -> None:
        super().__init__(str(difference))
        self.step, self.called, self.difference, self.expected = step, called, difference, expected
        self.state = ""  # in words
        self.contradicts = ""  # a choice that another script showed, and this one's answers contradict
        self.breaks_a_choice = False  # the sentence of one: it is no other choice

    @property
    def is_of_a_race(self) -> bool:
        """Was it in a race? Then luck may have played a part."""
        return self.step.do in ("race", "wait")

    @property
    def rows(self) -> tuple[str, ...]:
        """The sentences that are broken, by id."""
        return self.difference.rows

    @property
    def kind(self) -> tuple[str, ...]:
        """The identity of a mismatch: the calls, and where they differ."""
        return (*sorted(called.method for called in self.called), self.difference.path.partition("[")[0])

    @property
    def form(self) -> Form:
        """Two mismatches of one form say the same about a bus."""
        return self.cause, self.rows

    @property
    def cause(self) -> str:
        """The difference without its values. One that is a refusal may come from anything that many calls have."""
        refused = next((called.seen for called in self.called if isinstance(called.seen, Refusal)), None)
        if refused is not None:
            return _form(str(refused))
        differs = self.difference
        forms = f"{_form(differs.path)}: {_form(differs.expected)}, not {_form(differs.actual)}"
        return f"{' '.join(sorted(called.method for called in self.called))} {forms}"

    def belied_by(self, other: Mismatch, isolated: Container[str]) -> Mismatch:
        """This one, which a choice had explained until the other. If that only breaks the choice's sentence in another
        way, a race of this one shows nothing but the sentence broken: in turn its calls would have ended alike.
        """
        if other.breaks_a_choice:
            rows = tuple(row for row in self.rows if row not in isolated)
            self.difference = replace(self.difference, rows=rows)
        return self

    def told(self) -> str:
        """The end of a call without an answer; where they differ; then both answers, for a reader."""
        lost = [c.seen.message for c in self.called if isinstance(c.seen, Refusal) and c.seen.code == LOST]
        lines = [*map(one_line, lost), _for_a_reader(one_line(self.difference))]
        for c, expected in itertools.zip_longest(self.called, self.expected, fillvalue=""):
            assert isinstance(c, Called)
            lines += [
                f"process {c.at}: {c.method} {one_line(as_json(shortened(c.params))):.2000} at {c.now_ms} ms",
                f"  model: {_for_a_reader(one_line(expected))}",
                f"  bus:   {one_line(as_json(shortened(c.seen))):.900}",
            ]
        return "\n".join(lines)


@dataclass
class Seen:
    """The events on a stage, for coverage: (method, outcome) by thing, rows, and numbers of them."""

    calls: int = 0
    left_out: Counter[str] = field(default_factory=Counter)  # calls that were not sent, by method
    undecided: int = 0  # races with more orders than can be tried, or with one in which a call is not asked
    pairs: set[tuple[str, ...]] = field(default_factory=set)
    meetings: set[tuple[str, ...]] = field(default_factory=set)  # method and outcome, and two conditions that held
    recalls: set[tuple[str, ...]] = field(default_factory=set)  # a call, another's that changed it, the call again
    tags: set[str] = field(default_factory=set)
    rows: set[str] = field(default_factory=set)

    def add(self, other: Seen) -> None:
        """What another play of the same script reached."""
        for name in ("pairs", "meetings", "recalls", "tags", "rows"):
            getattr(self, name).update(getattr(other, name))

    @property
    def skipped(self) -> int:
        """How many calls were left out."""
        return self.left_out.total()


class Stage:
    """Play steps on a fresh store. A context manager; `do` raises Mismatch."""

    def __init__(
        self,
        fleet: Fleet,
        specification: Specification,
        dialects: dict[str, str] | None = None,
        *,
        is_measured: bool = False,
        unexplained: Container[Form] = (),
    ) -> None:
        self.fleet, self.specification, self.is_measured = fleet, specification, is_measured
        self.unexplained = unexplained  # by any choice, when they were met before: the trials can take minutes
        self.dialects = {} if dialects is None else dialects
        hello = fleet.hello
        self.features = frozenset({*hello.nouns, *hello.features, *hello.limits})  # all that a row may need
        self.limits = hello.limits
        self.learnt: dict[str, Mismatch] = {}  # dialects by name, and the mismatches without them
        self.states = [self._new_model()]
        self._twin = Twin()
        self._is_cut = False  # were there more than can be followed?
        self.history: list[tuple[list[Called], Schedules]] = []
        self.changes: set[int] = set()  # places of the history that changed the state, if they are measured
        self.now_ms = T0_MS
        self.seen = Seen()
        self._last: dict[tuple[str, str], str] = {}
        self._fingerprint = ""
        self._lasts = contextlib.ExitStack()
        self._doors: dict[int, Door] = {}
        self._processes: dict[int, list[Path]] = {}  # of those that raced, in /proc
        self._options: dict[int, dict[str, Any]] = {}
        self._clocks: dict[int, int] = {}
        contract = CONTRACTS[specification.system]
        self._methods = contract.methods
        self._outlives = "restarts" in self.features or "restarts" not in contract.usual
        self._rows = catalogue(specification.system)
        self._has_clock = hello.clock == "manual"
        self._declares_all = self.features | hello.limits.keys() >= specification.model.EVERYTHING

    def __enter__(self) -> Stage:
        self.folder = self._lasts.enter_context(scratch())
        self._settle("store")
        return self

    def _settle(self, folder: str) -> None:
        """The store is this folder from now on."""
        self.store = self.folder / folder
        self.store.mkdir()
        self.hand = self.specification.hand(self.store)

    def __exit__(self, *_: object) -> None:
        self.hand.close()
        for at in list(self._doors):
            self._leave(at)
        self._lasts.close()

    @property
    def model(self) -> Model:
        """The state that a generator looks at; the first of those that are possible."""
        return self.states[0]

    @property
    def places(self) -> frozenset[int]:
        """The places where a process has the store open."""
        return frozenset(self._doors)

    def do(self, step: Step) -> None:
        """Play one step; leave it out if the bus lacks a thing (a method, so late a time) or a value was never born."""
        self.fleet.goes_on()
        try:
            getattr(self, f"_do_{step.do}")(step)
        except Unresolved:
            self._leave_out(step)
            return
        self.seen.tags.update(step.tags)

    def _leave_out(self, step: Step) -> None:
        self.seen.left_out.update(part.method or part.do for part in step.calls or [step])

    # -- the kinds of steps

    def _do_store(self, step: Step) -> None:
        if self._doors or (self.folder / step.params["folder"]).exists():
            raise Unresolved
        self.hand.close()
        self._settle(step.params["folder"])

    def _do_clock(self, step: Step) -> None:
        if not self._has_clock:
            return  # what follows is judged at the machine's time
        if step.params["now_ms"] > self.limits.get(NOW_MS_MAX, step.params["now_ms"]):
            raise Unresolved
        if self.fleet.tied and step.params["now_ms"] < self.now_ms:
            raise Unresolved  # where time orders messages, a clock that goes back only tells the same again
        self.now_ms = step.params["now_ms"]

    def _do_pass(self, step: Step) -> None:
        """Time passes, on a clock that is set or on the machine's."""
        if self._has_clock:
            self.now_ms += step.params["ms"]
        else:
            time.sleep(step.params["ms"] / 1000)

    def _may_be_ended(self, at: int) -> None:
        """Raise Unresolved if a process is there, and the bus keeps in it what it was told."""
        if at in self._doors and not self._outlives:
            raise Unresolved

    def _do_open(self, step: Step) -> None:
        assert isinstance(step.at, int)
        self._may_be_ended(step.at)
        self._leave(step.at, kill=True)  # a server asked for the store that it has open would keep its session
        self._enter(step.at, step)

    def _do_restart(self, step: Step) -> None:
        assert isinstance(step.at, int)
        self._may_be_ended(step.at)
        if step.at in self._doors:
            is_kill = bool(step.params.get("kill"))
            if not is_kill and hasattr(self.model, "close"):  # an end that shows
                self._do_call(Step("call", step.at, "close", name=f"{step.name}.close"))
            self._leave(step.at, kill=is_kill)
            self._enter(step.at, step)

    def _do_call(self, step: Step) -> None:
        called = self._prepared(step)
        if called is None:
            self._leave_out(step)
        else:
            called.seen = self._send(called)
            self._judge(step, [called])

    def _do_many(self, step: Step) -> None:
        """The same call so many times, "#" in its texts being the number; or the same calls, one after the other."""
        for n in range(step.times):
            for number, part in enumerate(step.calls or [step]):
                name = f"{step.name}.{n}.{number}" if step.calls else f"{step.name}.{n}"
                self._do_call(Step("call", part.at, part.method, numbered(part.params, n), name))

    def _do_race(self, step: Step) -> None:
        calls = [self._prepared(part) for part in step.calls]
        inside = [called for called in calls if called is not None and called.at == "hand"]
        racing = [called for called in calls if called is not None and called.at != "hand"]
        if (
            None in calls
            or not racing
            or len({called.at for called in racing}) < len(racing)
            or "sqlite" not in self.features
        ):
            self._leave_out(step)
            return
        if too_many_orders(self.model, racing):
            self.seen.undecided += 1
            return
        self._look(step)  # earlier faults are not blamed on the race
        self.hand.hold()
        try:
            threads = [self._sent_off(called) for called in racing]
            self._until_at_the_lock(racing)
            inside = self._done(inside)
        finally:
            self.hand.let_go()
        for thread in threads:
            thread.join()
        self._judge(step, [*inside, *racing])
        self._look(step)

    def _done(self, calls: list[Called]) -> list[Called]:
        """Make calls while others are in the air; those that could be made. The others are judged in any case."""
        done = []
        for called in calls:
            try:
                called.seen = self._send(called)
            except Unresolved:
                self.seen.left_out[called.method] += 1
            else:
                done.append(called)
        return done

    def _until_at_the_lock(self, racing: list[Called]) -> None:
        """A process that looks before it locks has looked when it sleeps; on a busy machine that takes its time."""
        time.sleep(SENT_OFF_S - asleep.PAUSE_S)  # the look below takes the rest
        if not asleep.PROC.exists():
            return
        processes = [asleep.OURS]
        for called in racing:
            assert isinstance(called.at, int)
            door = self._doors.get(called.at)  # None if it has died by now
            if door is not None and called.at not in self._processes:
                self._processes[called.at] = door.processes()
            processes += self._processes.get(called.at, [])
        asleep.come_to_rest(processes, time.monotonic() + AT_LOCK_S_MAX, looks_min=1)

    def _do_wait(self, step: Step) -> None:
        """The first call waits for something; the others, of another process or the hand's, bring it or do not."""
        waiting, *others = [self._prepared(part) for part in step.calls]
        if waiting is None or None in others or any(called and called.at == waiting.at for called in others):
            self._leave_out(step)
            return
        bringing = [called for called in others if called is not None]
        with Pulse() as pulse:
            thread = self._sent_off(waiting)
            time.sleep(SENT_OFF_S)
            bringing = self._brought(bringing)
            brought_s = time.monotonic()
            thread.join()
            ended_s = time.monotonic()
        has_looked = ended_s - brought_s > LOOKED_S and pulse.was_steady(brought_s, ended_s)
        numbers = tuple(range(1, 1 + len(bringing)))
        # Any but the last may be done before something is brought; a single one, too, unless it surely looked again.
        parts = max(parts_of(self.model, waiting), 1 if has_looked else 2)
        self._judge(step, [waiting, *bringing], tuple((0,) * done + numbers for done in reversed(range(parts))))

    def _brought(self, calls: list[Called]) -> list[Called]:
        """What the hand alone brings comes in one transaction: on a busy machine a bus would look between two."""
        is_the_hands = len(calls) > 1 and all(called.at == "hand" for called in calls) and "sqlite" in self.features
        try:
            if is_the_hands:
                self.hand.hold()
        except sqlite3.Error:  # the bus holds the lock while it waits: each call ends as it would alone
            is_the_hands = False
        done = self._done(calls)
        if is_the_hands:
            self.hand.let_go()
        return done

    # -- sending

    def _prepared(self, step: Step) -> Called | None:
        if self.fleet.tied and step.method in _OF_ONE_MOMENT:
            return None
        try:
            params = self.model.fitted(step.method, resolve(step.params, self.model.frees))
        except DoesNotApply:
            return None
        if step.at != "hand":
            if step.at not in self._doors:
                return None
            known = self._methods.get(step.method)
            if known and not {known.noun, known.feature} - {None} <= self.features:
                return None
        elif "sqlite" not in self.features and step.method not in self.hand.ON_FILES:
            return None
        self.now_ms += self.fleet.is_of_a_new_moment(step.method)
        called = Called(step.name, step.at, step.method, params, self._time())
        if self.is_measured and step.at != "hand":
            called.held = tuple(sorted({*self.specification.conditions(self.model, called)}))
        return called if self._declares_all or all(self._applies(called, state) for state in self.states) else None

    def _time(self) -> int:
        """The time of a call that is made now: the script's, or the machine's where the bus has no other."""
        return self.now_ms if self._has_clock else _machine_ms()

    def _applies(self, called: Called, state: Model) -> bool:
        """Does the bus declare the features of this call, and does it not wait in vain for a call that was left out?"""
        twin = self._twin if len(self.states) == 1 else Twin()
        try:
            answer = twin.tries(state, called)
        except DoesNotApply:
            return False
        needs = {need for name in answer.rows if (row := self._rows.get(name)) for need in (row.noun, *row.needs)}
        return needs - _EYES <= self.features and answer.least_s < self.specification.answer_s_max

    def _declared(self, rows: Iterable[str]) -> tuple[str, ...]:
        """The rows that can be told of this bus: it declares all that they need."""
        known = {name: self._rows.get(name) for name in rows}
        return tuple(
            name for name, row in known.items() if row is None or {row.noun, *row.needs} - {"clock"} <= self.features
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
                if not self._has_clock:
                    called.now_ms = Moment(called.now_ms, _machine_ms())
                called.text = getattr(door, "text", "")
        except Refused as error:
            is_bad = error.rpc in _BAD_REQUEST or (error.rpc == PARSE_ERROR and not is_strict_json(called.params))
            code = "INVALID_ARGUMENT" if is_bad else error.code
            return Refusal(code, error.definite, error.message)
        except Lost as error:
            self._leave(called.at, kill=True)
            return Refusal(LOST, False, str(error))

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
        called = Called(step.name, at, "open", {"options": self._options[at]}, self._time())
        try:
            self._doors[at] = self.fleet.door(at, self.store, self._options[at])
            called.seen = {}
        except Refused as error:
            called.seen = Refusal(error.code, error.definite, error.message)
        except DoorError as error:
            called.seen = Refusal(LOST, False, str(error))
        self._judge(step, [called])

    def _leave(self, at: int, *, kill: bool = False) -> None:
        self._processes.pop(at, None)
        door = self._doors.pop(at, None)
        self._clocks.pop(at, None)
        if door is not None:
            self.fleet.give_back(door, retired=kill)

    def _look(self, step: Step) -> None:
        """The whole dump, if the bus has one."""
        at = next(iter(self._doors), None)
        if at is not None and "dump" in self.features:
            called = Called(step.name + ".look", at, "dump", {}, self._time())
            called.seen = self._send(called)
            self._judge(step, [called])
        elif self.hand.LOOK:
            self._do_call(Step("call", "hand", self.hand.LOOK, name=step.name + ".look"))

    # -- judging

    def _judge(self, step: Step, calls: list[Called], schedules: Schedules = ()) -> None:
        since = len(self.history)
        self.history.append((calls, schedules))
        try:
            states, tried = after(self.states, calls, schedules)
        except DoesNotApply as error:
            self.seen.undecided += 1
            raise Undecided from error
        if not states:
            if self._is_cut:  # the bus may be in a state that is not followed
                self.seen.undecided += 1
                raise Undecided
            expected, difference = tried
            is_isolation = len(calls) > 1 and each_alone(self.states, calls, schedules)
            if is_isolation:
                difference = replace(difference, rows=(*difference.rows, *self.model.ISOLATED))
            difference = replace(difference, rows=self._declared(difference.rows) or difference.rows)
            mismatch = Mismatch(step, calls, difference, expected)
            mismatch.state = self._before(since)
            states = self._under_another_dialect(self._closer(mismatch), since)
        different = distinct(states)
        self.states, self._is_cut = different[:STATES_MAX], self._is_cut or len(different) > STATES_MAX
        self._twin.follows(self.states, calls)
        if self.is_measured and (now := self.model.fingerprint()) != self._fingerprint:
            self.changes.add(since)
            self._fingerprint = now
        self._keep_secrets(step, calls)
        self._hear(step, calls)
        self._note(calls, tried[0])
        wanted = self.model.wants_look()
        if wanted == "dump":
            self._look(step)
        elif wanted is not None and "sqlite" in self.features:
            self._do_call(Step("call", "hand", wanted, name=step.name + ".look"))

    def _before(self, since: int) -> str:
        """The state that the call met, in words: the model that answered it may have moved on."""
        states = tried(self._new_model, self.history[:since], self.dialects).states
        if not states:
            return ""
        states[0].now_ms = self._time()
        return states[0].in_words()

    def _closer(self, mismatch: Mismatch) -> Mismatch:
        """The effect of a call may tell more than its reply: a number is wrong, but which thing is it?"""
        called = mismatch.called[0]
        if len(mismatch.called) > 1 or len(self.states) > 1 or isinstance(called.seen, Refusal):
            return mismatch
        for at, method in self.specification.closer.get(called.method, ()):
            looking = self._prepared(Step("call", at, method, name=mismatch.step.name + ".closer"))
            if looking is None:
                continue
            with contextlib.suppress(Unresolved):
                looking.seen = self._send(looking)
                expected, difference, _ = played(copy_of(self.model), [looking], ())
                if difference is not None:
                    self.history.append(([looking], ()))  # a choice must explain this, too
                    if self._binds(mismatch.rows) and not self._binds(difference.rows):
                        continue  # it is of a sentence that binds nobody, and would hide the one that does
                    answers = [*mismatch.expected, str(expected[0])]
                    closer = Mismatch(mismatch.step, [called, looking], difference, answers)
                    closer.state = mismatch.state
                    return closer
        return mismatch

    def _keep_secrets(self, step: Step, calls: list[Called]) -> None:
        """A secret of one agent is in no answer to another."""
        for c in calls if self.model.secrets else ():
            leak = c.at != "hand" and self.model.leak(c.at, f"{c.seen!r} {c.text}".lower(), repr(c.params))
            if leak:
                raise Mismatch(step, [c], leak, ["an answer without it"])

    def _hear(self, step: Step, calls: list[Called]) -> None:
        """A door that also answers in words says what its reply says."""
        for called in calls:
            if called.text and not isinstance(called.seen, Refusal):
                unsaid = self.model.unsaid(called.method, called.seen, called.text)
                if unsaid:
                    raise Mismatch(step, [called], unsaid, [unsaid.expected])

    def end(self) -> None:
        """The database is where it belongs, and secrets are nowhere else: in no file, in no words for people."""
        if "sqlite" in self.features and self._has_changed() and not self.hand.has_tables():
            where = f"tables in {self.hand.DATABASE} in {self.store}"
            raise Mismatch(Step("end"), [], Difference("store", where, "none", self._declared(self.model.STORED)), [])
        if not self.model.secrets:
            return
        words = {str(at): door.stderr for at, door in self._doors.items()}
        for path in self.store.rglob("*"):
            if path.is_file() and not path.name.startswith(self.model.KEEPS_SECRETS or "/"):
                words[path.name] = path.read_bytes().decode("utf-8", "replace")
        for place, text in words.items():
            if leak := self.model.leak(place, text.lower()):
                raise Mismatch(Step("end"), [], leak, [])

    def _has_changed(self) -> bool:
        """Did a process change the store?"""
        calls = (called for calls, _ in self.history for called in calls if called.at != "hand")
        return any(called.method in self.model.WRITES and not isinstance(called.seen, Refusal) for called in calls)

    def _under_another_dialect(self, mismatch: Mismatch, since: int) -> list[Model]:
        """The states under other choices, if some explain all that was seen; `since`: the first that none explained."""
        if mismatch.form in self.unexplained:
            raise mismatch
        learnt = {name: self.dialects[name] for name in self.learnt}
        known = {name: option for name, option in self.dialects.items() if name not in learnt}
        trial = explained(self._new_model, self.history, known, learnt)
        if trial is None:
            name = self._doubted(known, learnt) or of_two_minds(self._new_model, self.history, self.dialects, since)
            if not name:
                name = self._belied(mismatch)
                mismatch.breaks_a_choice = name != ""
            if name in self.learnt:
                del self.dialects[name]
                raise self.learnt.pop(name).belied_by(mismatch, self.model.ISOLATED)
            mismatch.contradicts = name
            raise mismatch
        for name in learnt.keys() - trial.dialects.keys():
            del self.dialects[name], self.learnt[name]
        for name, option in trial.dialects.items():
            if self.dialects.get(name) != option:
                self.dialects[name], self.learnt[name] = option, mismatch
        return trial.states

    def _binds(self, rows: Iterable[str]) -> bool:
        known = catalogue(self.model.SYSTEM)
        return any(row in known and known[row].level == "MUST" for row in rows)

    def _doubted(self, known: dict[str, str], learnt: dict[str, str]) -> str:
        """A choice that other scripts have shown, and without which all of this one is explained."""
        asked = {name for state in self.states for name in state.consulted}
        for name in filter(asked.__contains__, known):
            others = {other: option for other, option in known.items() if other != name}
            if explained(self._new_model, self.history, others, learnt):
                return name
        return ""

    def _belied(self, mismatch: Mismatch) -> str:
        """A choice about the very sentence that is broken now: it does not explain all, so it explains nothing.

        A fault that is told and followed is excepted: a bus may break that sentence in other ways, too.
        """
        sentence = mismatch.rows[0] if mismatch.rows else ""
        names = [name for name in self.dialects if name not in self.specification.model.FOLLOWED]
        return next((name for name in names if name.partition(":")[0] == sentence), "")

    def _new_model(self, dialects: dict[str, str] | None = None) -> Model:
        return self.specification.model(self.features, self.limits, self.dialects if dialects is None else dialects)

    def _note(self, calls: list[Called], expected: list[str]) -> None:
        for called in calls:
            if called.at == "hand" or called.step.endswith(".look"):
                continue
            ending = called.said
            self.seen.meetings.update((ending, *two) for two in itertools.combinations(called.held, 2))
            for kind, name in self.specification.things(called.method, called.params):
                before = self._last.get((kind, name))
                if before is not None:
                    self.seen.pairs.add((kind, before, ending))
                self._last[kind, name] = ending
        for state in self.states[:1]:
            self.seen.rows.update(self._declared(state.last_rows))
