"""What chaos must know of a system to break a bus of it: one object, and nothing else is a system's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from buschaos.operations import Operation, Prepare, Prepared
from buschaos.plan import Call, Role
from buschaos.state import Evidence, Problem, Promise
from busproof.history import Event
from busproof.session import Session


class Memory(Protocol):
    """What one agent of a plan remembers from call to call, over the deaths of its sessions."""

    def fill(self, call: Call) -> dict[str, Any]:
        """The parameters of a planned call."""
        ...

    def heed(self, call: Call, params: dict[str, Any], reply: dict[str, Any]) -> None:
        """What an answer told."""
        ...


@dataclass(frozen=True)
class Subject:
    """A system, as chaos sees it."""

    operations: tuple[Operation, ...]  # killed at every write point
    prepare: Prepare  # fills a store for them
    roles: tuple[Role, ...]  # who plays in a run of random kills
    memory: Callable[[], Memory]
    retried: frozenset[
        str
    ]  # methods that are called again, to the letter, where nobody knows what became of them
    expected: frozenset[str]  # codes that a call of the plan may rightly be refused with
    settle: tuple[str, dict[str, Any]]  # a harmless call: answered, the call before it is over
    export: str | None  # the method that brings a file up to date
    inspect: Callable[[Path], dict[str, Any]]  # what the files say, whatever the bus says
    files: Callable[[Path], list[dict[str, str]]]  # path and content of what is stored beside the database
    comparable: Callable[[dict[str, Any], set[str], str], dict[str, Any]]  # dump, known ids, clock
    promises: Callable[[Iterable[Event]], list[Promise]]
    problems: Callable[[Evidence], list[Problem]]
    read_all: Callable[[Session], None]  # an agent takes all that waits for it
    settle_ms: int  # how much later than the last round the last reading is
    # Where a session must say who it is before it works, what it says: the second call of the same session.
    enter: Callable[[Session, Prepared], None] | None = None
    read: Callable[[Path], dict[str, Any]] | None = None  # the whole state from outside, leaving all as it is
    acts: frozenset[str] = frozenset({"chaos.random_kills", "chaos.kill_points", "chaos.disk_full"})
    is_slow_to_start: bool = False  # and a process serves one store: writes are torn in the middle alone
