"""A fleet: the processes that stand behind a run, warm between stores, on one bus or mixed from several."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

from busproof.bus.base import Door, DoorError
from busproof.bus.child import Household
from busproof.bus.doors import BusSpecError, open_door
from busproof.bus.scratch import scratch
from busproof.bus.warm import Warm
from busproof.contract import CONTRACTS, HelloReply

__all__ = ["BudgetSpent", "BusSpecError", "Fleet", "open_door", "reference"]
_SENDS = ("publish", "send", "transition")
NOW_MS_MAX = "now_ms_max"  # a limit that a bus may declare: no time after it can be set


def reference(system: str) -> str:
    """The reference's --bus: its stdio door, or the system's own contract if that is a program."""
    contract = CONTRACTS[system]
    return f"{contract.scheme}:{shlex.quote(sys.executable)} -m {contract.reference}"


_LATE = {"relay": "prometheus_client", "timeline": "nats"}  # a bus of ours imports it only when it is asked for it


def warm_for(systems: Collection[str]) -> Warm:
    """A process from which the reference of each of these starts, and every mutant of it."""
    programs = {CONTRACTS[system].reference for system in systems}
    late = (_LATE[system] for system in systems if system in _LATE)
    return Warm([*sorted(programs), *(f"refbus.{system}.bus" for system in systems), *late])


class BudgetSpent(BaseException):
    """The time that the user gave the run is over. No script takes it for an answer of the bus."""


class Fleet:
    """Sessions on one or several implementations, reused from store to store.

    If several specs are given, the i-th agent of a run gets the (i mod n)-th: a mixed fleet. `hello` is the declaration
    common to all of them. A household of another kind starts processes that can be held (`buschaos.schedules`).
    """

    def __init__(self, specs: list[str], *, system: str, household: Household | None = None) -> None:
        self._household = household or Household()
        self.specs, self.system = specs, system
        self.ends_at: float | None = None  # Unix seconds
        self.tied: str | None = None  # why its messages of one moment have no order (`play.ties`); None: not tried yet
        self._idle: dict[str, list[Door]] = defaultdict(list)
        self._spec_of: dict[int, str] = {}
        self._lasts = contextlib.ExitStack()
        self._shared: Path | None = None
        try:
            self.hellos = [self._say_hello(spec) for spec in specs]
        except BaseException:
            self.close()
            raise

    @property
    def hello(self) -> HelloReply:
        """The declaration common to all members: nouns and features are the intersection."""
        first, *others = self.hellos
        nouns = [noun for noun in first.nouns if all(noun in other.nouns for other in others)]
        features = [f for f in first.features if all(f in other.features for other in others)]
        manual = all(hello.clock == "manual" for hello in self.hellos)
        ends_ms = [hello.limits[NOW_MS_MAX] for hello in self.hellos if NOW_MS_MAX in hello.limits]
        limits = first.limits | ({NOW_MS_MAX: min(ends_ms)} if ends_ms else {})
        clock = "manual" if manual else "wall"
        return first.model_copy(update={"nouns": nouns, "features": features, "limits": limits, "clock": clock})

    def is_of_a_new_moment(self, method: str) -> bool:
        """Must time pass before this call, as the messages of one moment have no order?"""
        return bool(self.tied) and method in _SENDS

    @property
    def _is_over(self) -> bool:
        return self.ends_at is not None and time.time() > self.ends_at

    def goes_on(self) -> None:
        """Raises BudgetSpent if the run's time is over."""
        if self._is_over:
            raise BudgetSpent

    def door(self, agent_index: int, store: Path, options: dict[str, object], *, in_real_time: bool = False) -> Door:
        """A door opened on the store, warm if one is idle. Raises BudgetSpent, or the DoorError of its opening.

        In real time: the door of a process that was never told the time, and has no clock but the machine's.
        """
        self.goes_on()
        spec = self.specs[agent_index % len(self.specs)]
        if in_real_time:
            spec = spec.removeprefix("faketime:")
        door = (None if in_real_time else self._idle_on(spec, store)) or self._fresh(spec)
        self._spec_of[id(door)] = spec
        try:
            door.call("open", {"store": str(store), "options": options})
        except DoorError:
            door.kill()
            raise
        return door

    def shared_store(self) -> Path:
        """A store that the scenarios of one fleet share, for a system whose lanes are strangers to each other."""
        if self._shared is None:
            self._shared = self._lasts.enter_context(scratch("shared"))
        return self._shared

    def give_back(self, door: Door, *, retired: bool) -> None:
        """Close the store and keep the process for the next run, or kill it if it is retired."""
        spec = self._spec_of.pop(id(door))
        if not (retired or self._is_over):
            try:
                door.call("close", {})
                self._idle[spec].append(door)
                return
            except DoorError:
                pass
        door.kill()

    def close(self) -> None:
        """End all idle processes, and those that they left running; these are told."""
        for doors in self._idle.values():
            while doors:
                doors.pop().close()
        left = self._household.end()
        if left:
            them = "1 process" if len(left) == 1 else f"{len(left)} processes"
            print(f"busproof: the bus left {them} running, now ended: {left[0][:200]!a}", file=sys.__stderr__)
        self._lasts.close()
        self._shared = None

    def _idle_on(self, spec: str, store: Path) -> Door | None:
        """A warm door; best one that has this store open already."""
        idle = self._idle[spec]
        idle.sort(key=lambda door: door.store == store)
        return idle.pop() if idle else None

    def _fresh(self, spec: str) -> Door:
        door = open_door(spec, self._household.spawn)
        door.get_ready(self.system)
        return door

    def _say_hello(self, spec: str) -> HelloReply:
        door = open_door(spec, self._household.spawn)
        try:
            reply = HelloReply.model_validate(door.call("hello", {"protocol": ["1"], "system": self.system}))
        except Exception:
            door.kill()
            raise
        self._idle[spec].append(door)
        return CONTRACTS[self.system].completed(reply)
