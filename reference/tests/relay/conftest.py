"""A folder, its clock, and agents that only write and read files in it."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel import msgfile, process
from refbus.kernel.clock import Clock
from refbus.kernel.msgfile import Message
from refbus.relay.bus import RelayBus


class Agents:
    """The acts of agents in a folder: by hand, with the times that a test wants."""

    def __init__(self, root: Path, clock: Clock) -> None:
        self.root, self.clock = root, clock
        self._numbers = itertools.count(1)

    def join(self, *names: str) -> None:
        """Make an agent's outbox, as the example of the seed does."""
        for name in names:
            (self.root / "agents" / name / "outbox" / ".pending").mkdir(parents=True, exist_ok=True)

    def outbox(self, agent: str) -> Path:
        """Its folder."""
        return self.root / "agents" / agent / "outbox"

    def name(self) -> str:
        """The name of another message file."""
        return f"{1_706_123_456_789_000_000 + next(self._numbers)}-{next(self._numbers):08x}.msg"

    def put(self, agent: str, data: bytes, *, name: str | None = None, age_ms: int = 1_000) -> Path:
        """A whole file, renamed into the outbox, that was written so long ago."""
        self.join(agent)
        name = name or self.name()
        written = self.outbox(agent) / ".pending" / name
        written.write_bytes(data)
        self.age(written, age_ms)
        return written.rename(self.outbox(agent) / name)

    def age(self, path: Path, age_ms: int) -> None:
        """It was changed so long ago."""
        mtime_ns = (self.clock.now_ms() - age_ms) * 1_000_000
        os.utime(path, ns=(mtime_ns, mtime_ns))

    def send(self, agent: str, to: str, body: str = "", kind: str = "message", **fields: Any) -> str:
        """A message; returns its id."""
        path = self.put(agent, msgfile.format(Message(to, body, kind, **fields)))
        return f"{agent}/{path.stem}"

    def inbox(self, agent: str) -> list[tuple[str, str, Message]]:
        """Sender, id and message, in the order of their names."""
        paths = sorted((self.root / "agents" / agent / "inbox").glob("*.msg"))
        return [msgfile.parse_copy(path.read_bytes()) for path in paths]

    def bodies(self, agent: str) -> list[str]:
        """The bodies of the messages in its inbox."""
        return [message.body for _, _, message in self.inbox(agent)]


OpenRelay = Callable[..., RelayBus]


@pytest.fixture
def agents(store: Path, clock: Clock) -> Agents:
    """Of the folder."""
    return Agents(store, clock)


@pytest.fixture
def open_relay(store: Path, clock: Clock) -> Iterator[OpenRelay]:
    """Opens orchestrators on the folder, one after the other, and closes them at the end."""
    opened: list[RelayBus] = []

    def open_(**options: Any) -> RelayBus:
        while opened:
            opened.pop().close()
        opened.append(RelayBus(store, clock=clock, **{"grace_ms": 500, **options}))
        return opened[-1]

    yield open_
    for bus in opened:
        bus.close()


@pytest.fixture
def relay(open_relay: OpenRelay) -> RelayBus:
    """An orchestrator with default settings."""
    return open_relay()


def rows(bus: RelayBus, direction: str = "outbox") -> dict[str, dict[str, Any]]:
    """The ledger's messages by their ids."""
    return {row["message_id"]: row for row in bus.dump()["messages"] if row["direction"] == direction}


def events(bus: RelayBus) -> list[tuple[str, str]]:
    """Event and path of each audit record."""
    return [(record["event"], record["path"]) for record in bus.audit()["records"]]


def started(root: Path) -> list[int]:
    """Live processes that were started for agents of this folder, or of one below it."""
    return [
        agent.pid
        for agent in process.living()
        if (of := process.variable(agent.pid, "AGENT_RELAY_DIR")) is not None
        and Path(of).is_relative_to(root)
        and agent.pid != os.getpid()
    ]


@contextlib.contextmanager
def permissions_count() -> Iterator[None]:
    """For root, too, who may read everything by two capabilities: they are put down for a while."""
    if os.geteuid():
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, held = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()

    def call(name: str, sets: ctypes.Array[ctypes.c_uint32]) -> None:
        if getattr(libc, name)(header, sets):
            raise OSError(ctypes.get_errno(), name)

    call("capget", held)
    less = (ctypes.c_uint32 * 6)(*held)
    less[0] &= ~0b110  # effective: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    call("capset", less)
    try:
        yield
    finally:
        call("capset", held)


@pytest.fixture
def ends_processes(tmp_path: Path) -> Iterator[None]:
    """Nothing is left running, whatever failed."""
    yield
    for pid in started(tmp_path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
