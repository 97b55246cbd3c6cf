"""How a scenario is written and run.

A scenario is a function that plays a script through sessions and states what it expects, each expectation under the
id of the requirement that it decides:

    @scenario("log.idempotent_publish")
    def idempotent_publish(ctx: Ctx) -> None:
        \"\"\"A retry with the same id is the same message.\"\"\"
        alice = ctx.agent("alice")
        first = alice.call("publish", message={"id": "m1", "type": "t"})
        again = alice.call("publish", message={"id": "m1", "type": "t"})
        ctx.expect("worker.log.07", again["id"] == first["id"], f"the retry answered {again}")

A scenario runs on a store of its own. An expectation that is never reached is could-not-run, never green.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from busproof.bus.fleet import Fleet
from busproof.bus.scratch import scratch
from busproof.bus.session import Session
from busproof.contract import CONTRACTS
from busproof.contract.catalogue import Requirement, catalogue
from busproof.contract.common import T0_MS
from busproof.contract.history import Event, Recorder, read

Outcome = Literal["pass", "fail", "warn", "not-applicable", "could-not-run", "inconclusive"]


@dataclass(frozen=True)
class Finding:
    """The result of one expectation."""

    requirement: str
    ok: bool
    why: str
    at_event: int  # index in the history of the last event before it
    shown: tuple[int, ...] = ()  # indexes of the events that show it; none: those just before it


class Ctx:
    """The stage of one scenario: a store, sessions on it, a shared clock, and the expectations."""

    def __init__(self, fleet: Fleet, store: Path, recorder: Recorder, options: dict[str, Any]) -> None:
        self.fleet, self.store, self.recorder = fleet, store, recorder
        self.hello = fleet.hello
        self.findings: list[Finding] = []
        self.is_by_luck = False  # a race in it was not forced: another play may show what this one did not
        self._options = options
        self._thread = threading.get_ident()
        self.opened_with: dict[int, dict[str, Any]] = {}  # process → options of its open
        self._sessions: list[Session] = []
        self._blamed: list[int] = []
        self._numbers = itertools.count()
        self._now_ms = T0_MS
        takes_ids = self.has("idempotent_publish") or "idempotent_publish" not in CONTRACTS[fleet.system].usual
        self._names: dict[str, str] | None = None if takes_ids else {}

    def agent(self, name: str, **options: Any) -> Session:
        """A new process working as this agent, opened on the store, its clock at the scenario's time."""
        session = self._opened(name, options)
        if self.hello.clock == "manual":
            session.set_clock(self._now_ms)
        return session

    def agent_in_real_time(self, name: str, **options: Any) -> Session:
        """A process that is not told the time, so that time passes while it waits."""
        return self._opened(name, options, in_real_time=True)

    def _opened(self, name: str, options: dict[str, Any], *, in_real_time: bool = False) -> Session:
        number = next(self._numbers)
        self.opened_with[number] = {**self._options, **options}
        door = self.fleet.door(number, self.store, self.opened_with[number], in_real_time=in_real_time)
        session = Session(door, self.recorder, process=number, agent=name, goes_on=self._goes_on)
        session.names = self._names
        self._sessions.append(session)
        return session

    def _goes_on(self, method: str) -> None:
        """The end of the user's time is the end of the script; another thread's call is left alone."""
        if threading.get_ident() == self._thread:
            self.fleet.goes_on()
            if self.fleet.is_of_a_new_moment(method):
                self.advance(1, is_told_only=True)

    @property
    def newest(self) -> Session:
        """The session that came last."""
        return self._sessions[-1]

    @property
    def now_ms(self) -> int:
        """The scenario's time."""
        return self._now_ms

    @property
    def now_s(self) -> float:
        """The time that the fleet's clocks show, in Unix seconds: the scenario's time, or the machine's."""
        return self._now_ms / 1000 if self.hello.clock == "manual" else time.time()

    def pass_a_moment(self) -> None:
        """A millisecond goes by, also where clocks stand still between two calls."""
        if self.hello.clock == "manual":
            self.advance(1)

    def advance(self, ms: int, *, is_told_only: bool = False) -> int:
        """Move all clocks on (or back, if negative), or those that were told a time; return the new time."""
        self._now_ms += ms
        for session in self._sessions:
            if not session.retired and not (is_told_only and session.now_ms is None):
                session.set_clock(self._now_ms)
        return self._now_ms

    @contextlib.contextmanager
    def beside(self) -> Iterator[Ctx]:
        """Another store, for a part of a script that waits long: the parts wait side by side, and tell one history."""
        with scratch() as folder:
            other = Ctx(self.fleet, folder, self.recorder, self._options)
            other.findings, other.opened_with, other._numbers = self.findings, self.opened_with, self._numbers
            try:
                yield other
            finally:
                other.close()

    def expect(self, requirement: str, ok: bool, why: str) -> bool:
        """Decide a requirement; `why` tells a reader what was seen, and is kept only if it failed."""
        last = self.recorder.last
        self.findings.append(Finding(requirement, bool(ok), "" if ok else why, last, tuple(self._blamed)))
        self._blamed.clear()
        return bool(ok)

    def blame(self) -> None:
        """The last call and its answer are the evidence if the next expectation does not hold."""
        self._blamed += [self.recorder.last - 1, self.recorder.last]

    def has(self, *features: str) -> bool:
        """Does every member of the fleet declare these features or nouns?"""
        return all(f in self.hello.features or f in self.hello.nouns for f in features)

    def crash(self, session: Session) -> None:
        """SIGKILL one session's process."""
        session.retired = True
        session.door.kill()
        self.recorder.record("nemesis", process=session.process, op="kill", agent=session.agent)

    def history(self) -> list[Event]:
        """The events recorded so far."""
        return list(read(self.recorder.path))

    def close(self) -> None:
        """Give all doors back."""
        for session in self._sessions:
            self.fleet.give_back(session.door, retired=session.retired)


@dataclass(frozen=True)
class Scenario:
    """A script, and the features that it needs to be played at all."""

    name: str  # NOUN.WHAT
    play: Callable[[Ctx], None]
    needs: tuple[str, ...] = ()  # features or nouns; "clock" wants a settable clock
    options: dict[str, Any] = field(default_factory=dict)
    alone: bool = True  # on a store of its own
    is_long: bool = False  # it waits for many seconds, and so begins first

    @property
    def says(self) -> str:
        """The sentence it tests."""
        return (self.play.__doc__ or "").strip()


SCENARIOS: dict[str, dict[str, Scenario]] = {}  # system → name → scenario


def scenario(
    name: str, *, system: str, needs: tuple[str, ...] = (), alone: bool = True, is_long: bool = False, **options: Any
) -> Callable[[Callable[[Ctx], None]], Callable[[Ctx], None]]:
    """Register a scenario. `options` go to every session's `open`; one that is not `alone` shares a store."""

    def register(play: Callable[[Ctx], None]) -> Callable[[Ctx], None]:
        known = SCENARIOS.setdefault(system, {})
        if name in known:
            raise ValueError(f"scenario {name} stands twice")
        known[name] = Scenario(name, play, needs, options, alone, is_long)
        return play

    return register


@contextlib.contextmanager
def stage(fleet: Fleet, *, run: str, options: dict[str, Any] | None = None, alone: bool = True) -> Iterator[Ctx]:
    """A fresh store and recorder; both are removed afterwards. Not `alone`: on the fleet's shared store."""
    with scratch() as folder:
        store = folder / "store" if alone else fleet.shared_store()
        store.mkdir(exist_ok=True)
        recorder = Recorder(folder / "history.jsonl", run=run, system=fleet.system)
        ctx = Ctx(fleet, store, recorder, options or {})
        try:
            yield ctx
        finally:
            ctx.close()
            recorder.close()


def rows_of(system: str, item: str) -> list[Requirement]:
    """The catalogue rows that this item, or the one that it is a part of, decides."""
    return [row for row in catalogue(system).values() if row.item == item.partition(":")[0]]
