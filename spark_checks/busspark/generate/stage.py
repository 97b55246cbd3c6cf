"""Agents that call a bus side by side, and the history of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import msgspec

AGENTS = 8
UNANSWERED = 0.01
START_MS = 1_768_053_600_000
UNTOLD = " untold"  # at the end of a lie about an unanswered call; it shows in the final state alone
Call = tuple[str, dict[str, Any]]  # op, params


@dataclass
class Fault:
    """One planted violation: its kind, the place where it shows, and other kinds that it may show as."""

    kind: str
    event: int  # the answer that lies; of the final state, -1
    seq: int  # the seq it lies about, or 0
    also: tuple[str, ...] = ()
    is_of_the_end: bool = False  # it shows in the final state alone


MISTOLD = ("skipped", "unordered")


def mistold(kind: str, rows: list[dict[str, Any]]) -> Fault:
    """An answer of three messages or more leaves the middle one out, or tells them backwards."""
    if kind == "unordered":
        rows.reverse()
        return Fault(kind, 0, 0)
    middle = rows.pop(len(rows) // 2)
    return Fault(kind, 0, middle["seq"], ("stale",))  # with room left, it also hides the newest


class Bus(Protocol):
    """A correct bus in memory, which lies when told to."""

    @property
    def system(self) -> str:
        """The name of its system."""

    @property
    def lies(self) -> tuple[str, ...]:
        """Kinds of violation that an answer can show."""

    @property
    def last_lies(self) -> tuple[str, ...]:
        """Those of the final state."""

    def draw(self, agent: str, rng: random.Random) -> Call:
        """The next call of the agent."""

    def columns(self, call: Call, reply: dict[str, Any] | None) -> dict[str, Any]:
        """The typed columns of an event."""

    def apply(self, agent: str, call: Call, now_ms: int) -> dict[str, Any]:
        """Do it, and answer."""

    def told(self, agent: str, call: Call, reply: dict[str, Any] | None) -> None:
        """The call was answered so, or nobody knows."""

    def lie(self, kind: str, agent: str, call: Call, reply: dict[str, Any], beside: list[Call]) -> Fault | None:
        """Alter this answer so, or the bus, if that is certain to show in spite of the calls beside it; None if not."""

    def states(self, lies: list[str]) -> Iterator[tuple[str, dict[str, Any], Iterator[tuple[str, Any]], list[Fault]]]:
        """Final states: op, the rest of its answer, its rows, and the faults in them."""


@dataclass
class _Agent:
    name: str
    process: int
    call: Call | None = None
    beside: list[Call] = field(default_factory=list)  # of others, open while this one was
    reply: dict[str, Any] | None = None  # it has happened already
    again: Call | None = None  # a call that nobody answered
    invoked: dict[str, Any] = field(default_factory=dict)


class Stage:
    """Plays `events` events of a bus into a file."""

    def __init__(self, bus: Bus, into: IO[bytes], run: str, seed: int) -> None:
        self._bus, self._into, self._run = bus, into, run
        self._rng = random.Random(seed)
        self._encode = msgspec.json.Encoder().encode
        self._index = self._states = 0
        self._now_ms = START_MS
        self._processes = AGENTS
        self._agents = [_Agent(f"agent-{n}", n) for n in range(AGENTS)]
        self.truth: list[Fault] = []

    def play(self, events: int, faults: int) -> None:
        """All of it; faults are spread evenly, each kind as often as any other."""
        self._write(-1, "header", value={"generated": events})
        kinds = [self._bus.lies[n % len(self._bus.lies)] for n in range(faults)]
        due = [(n + 1) * events // (faults + 1) for n in range(faults)]
        waiting: list[str] = []
        while self._index < events:
            while due and due[0] <= self._index:
                due.pop(0)
                waiting.append(kinds.pop(0))
            self._step(self._rng.choice(self._agents), waiting)
        for agent in self._agents:
            if agent.call is not None:
                self._end(agent, [], is_last=True)
        self._finish(bool(faults))

    def _step(self, agent: _Agent, waiting: list[str]) -> None:
        self._now_ms += self._rng.randrange(3)
        if agent.call is not None:
            self._end(agent, waiting)
            return
        agent.call = agent.again or self._bus.draw(agent.name, self._rng)
        agent.again = None
        open_ = [other for other in self._agents if other.call is not None and other is not agent]
        agent.beside = [other.call for other in open_ if other.call is not None]
        for other in open_:
            other.beside.append(agent.call)
        op, params = agent.call
        self._write(
            agent.process, "invoke", op=op, agent=agent.name, value=params, **self._bus.columns(agent.call, None)
        )
        agent.reply = self._bus.apply(agent.name, agent.call, self._now_ms) if self._rng.random() < 0.5 else None

    def _end(self, agent: _Agent, waiting: list[str], *, is_last: bool = False) -> None:
        assert agent.call is not None
        call, reply = agent.call, agent.reply
        agent.call = agent.reply = None
        is_unanswered = self._rng.random() < UNANSWERED and not is_last
        if reply is None and (not is_unanswered or self._rng.random() < 0.5):
            reply = self._bus.apply(agent.name, call, self._now_ms)
        if is_unanswered:
            if reply is not None:
                self._lie(agent, call, reply, [kind for kind in waiting if kind.endswith(UNTOLD)], waiting)
            self._write(agent.process, "info", op=call[0], agent=agent.name)
            self._bus.told(agent.name, call, None)
            agent.process, self._processes = self._processes, self._processes + 1
            agent.again = call if self._rng.random() < 0.7 else None
            return
        assert reply is not None
        self._lie(agent, call, reply, [kind for kind in waiting if not kind.endswith(UNTOLD)], waiting)
        self._bus.told(agent.name, call, reply)
        columns = self._bus.columns(call, reply)
        self._write(agent.process, "ok", op=call[0], agent=agent.name, value=reply, **columns)

    def _lie(self, agent: _Agent, call: Call, reply: dict[str, Any], kinds: list[str], waiting: list[str]) -> None:
        """Tell the first of these lies that can be told here."""
        for kind in dict.fromkeys(kinds):
            fault = self._bus.lie(kind.removesuffix(UNTOLD), agent.name, call, reply, agent.beside)
            if fault is not None:
                fault.event = self._index
                self.truth.append(fault)
                waiting.remove(kind)
                break

    def _finish(self, is_lying: bool) -> None:
        in_the_dump = [fault for fault in self.truth if fault.is_of_the_end]
        for op, rest, rows, faults in self._bus.states(list(self._bus.last_lies) if is_lying else []):
            self._write(0, "invoke", op=op, agent="agent-0", value={})
            at = self._index
            self._write(0, "ok", op=op, agent="agent-0", value=rest)
            for key, row in rows:
                self._write(0, "state", op=op, key=key, value=row)
                self._states += 1
            for fault in (*faults, *(in_the_dump if op == "dump" else ())):
                fault.event, fault.is_of_the_end = at, True
            self.truth += faults
        self._write(-1, "footer", value={"events": self._index, "states": self._states})

    def _write(self, process: int, type_: str, **columns: Any) -> None:
        event = {
            "index": self._index,
            "run": self._run,
            "system": self._bus.system,
            "process": process,
            "type": type_,
            "wall_ms": self._now_ms,
            "mono_ns": self._index * 1000,
            **columns,
        }
        self._into.write(self._encode(event) + b"\n")
        self._index += 1


def generate(bus: Bus, events: int, path: Path, *, faults: int = 0, seed: int = 0) -> list[Fault]:
    """Write the history; return the planted faults."""
    with path.open("wb", buffering=1 << 20) as into:
        stage = Stage(bus, into, path.name.partition(".")[0], seed)
        stage.play(events, faults)
    return stage.truth
