"""The agents of a `relay` folder: they only write files, and note beside the folder what they are about to write."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from busproof.contract.common import T0_MS

NAMES = ("ann", "bob", "cid")
_OLD_NS = (T0_MS - 60_000) * 1_000_000  # on the sessions' clock: long settled
SENT = "sent.jsonl"
TAKEN = "taken"  # beside the store: the files that agents have read
LINKED = "dan"  # the agent whose inbox becomes a link, and of whose copies nothing is compared
NAME = "AGENT_RELAY_NAME"  # the variable by which an agent knows who it is
Running = list[dict[str, Any]]  # agent and pid of each
LONG_S = 5.0
BEGUN = "begun"  # beside the store: a line of each program that was started, with its pid
ANEW = b"TO: no address\n\nwritten anew"
ELSEWHERE = "elsewhere"  # beside the store: the target of that link


@dataclass(frozen=True)
class File:
    """A message file: whose, its name, and its bytes."""

    agent: str
    name: str
    data: bytes

    @property
    def id(self) -> str:
        """As the ledger knows it."""
        return f"{self.agent}/{self.name.removesuffix('.msg')}"


def message(agent: str, number: int, to: str, body: str, *headers: str) -> File:
    """A file of this agent; numbers rise in the order of sending."""
    head = "".join(f"{line}\n" for line in (f"TO: {to}", *headers))
    return File(agent, f"{T0_MS}{number:06d}-{number:08x}.msg", f"{head}\n{body}".encode())


def join(store: Path, *more: str) -> None:
    """Make the folders of all agents."""
    for name in (*NAMES, *more):
        (store / "agents" / name / "outbox" / ".pending").mkdir(parents=True, exist_ok=True)


def put(store: Path, files: Iterable[File], *, is_noted: bool = False) -> None:
    """Write them whole into .pending, make them durable and rename them; `is_noted` notes their ids first."""
    for file in files:
        outbox = store / "agents" / file.agent / "outbox"
        written = outbox / ".pending" / file.name
        if is_noted:
            with open(store.parent / SENT, "a", encoding="utf-8") as sent:
                sent.write(json.dumps(file.id) + "\n")
        with open(written, "wb") as opened:
            opened.write(file.data)
            opened.flush()
            os.fsync(opened.fileno())
        written.rename(outbox / file.name)
        # Until now it came from the future, so it waited; made old in .pending, it would have been rubbish.
        os.utime(outbox / file.name, ns=(_OLD_NS, _OLD_NS))


def allow(store: Path) -> None:
    """config.json: the program that spawns may start. It says that it has begun, and waits for its end with a child."""
    config = store / "config.json"
    program = f'echo "${NAME} $$" >> "$AGENT_RELAY_DIR/../{BEGUN}"; sleep 1000 & wait'
    config.write_text(json.dumps({"clis": {"waits": ["/bin/sh", "-c", program]}, "grace_ms": 50}))
    config.chmod(0o600)


def running(store: Path) -> Running:
    """The agents whose processes live, and the pid of each: of the process that was started, not of its children.

    An agent's environment says who it is and where (R21).
    """
    by_pid: dict[int, tuple[str, int]] = {}
    here, name = os.path.realpath(store), f"{NAME}=".encode()
    for pid in filter(str.isdecimal, os.listdir("/proc")):  # asked so often that a Path for each would cost time
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{pid}/environ", "rb", buffering=0) as opened:
                environment = opened.read()
            if name not in environment:  # as of most processes of a machine, which are many
                continue
            variables = dict(item.split("=", 1) for item in os.fsdecode(environment).split("\0") if "=" in item)
            if NAME in variables and os.path.realpath(variables.get("AGENT_RELAY_DIR", "/")) == here:
                parent = int(Path("/proc", pid, "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
                by_pid[int(pid)] = variables[NAME], parent
    tops = [(agent, pid) for pid, (agent, parent) in by_pid.items() if parent not in by_pid]
    return [{"agent": agent, "pid": pid} for agent, pid in sorted(tops)]


def begun(store: Path) -> Running:
    """Each program that was started, however it ended; those that run are given the time to say so."""
    path = store.parent / BEGUN

    def begun_so_far() -> Running:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [{"agent": agent, "pid": int(pid)} for agent, pid in map(str.split, lines)]

    return until(begun_so_far, lambda agents: all(agent in agents for agent in running(store)))


def until(look: Callable[[], Running], holds: Callable[[Running], bool]) -> Running:
    """The last look, once it is so or there was time for it: a process that was killed needs a moment to be gone."""
    deadline = time.monotonic() + LONG_S
    while not holds(agents := look()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return agents


def end_agents(store: Path) -> None:
    """End all that were started there, and all that they have started."""

    def killed() -> Running:
        for agent in (agents := running(store)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(agent["pid"], signal.SIGKILL)
        return agents

    until(killed, lambda agents: not agents)


def take(store: Path) -> None:
    """Each agent reads its inbox, and the files that it has read are gone from there."""
    for path in inboxes(store):
        taken = store.parent / TAKEN / path.parts[-3]
        taken.mkdir(parents=True, exist_ok=True)
        shutil.move(path, taken / f"{len(list(taken.iterdir()))} {path.name}")


def inboxes(store: Path) -> list[Path]:
    """The files in inboxes; a link is none."""
    return [path for path in sorted(store.glob("agents/*/inbox/*")) if not path.parent.is_symlink()]


def take_and_link(store: Path) -> None:
    """Take, and then one agent makes its inbox a link. Those that were started work by then."""
    begun(store)
    take(store)
    link(store)


def link(store: Path) -> None:
    """One agent's inbox leads out of the folder: a message on its way there must not be written through it."""
    inbox = store / "agents" / LINKED / "inbox"
    if inbox.parent.is_dir() and not inbox.is_symlink():
        (store.parent / ELSEWHERE).mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            inbox.rmdir()
        inbox.symlink_to(store.parent / ELSEWHERE)


def be_rude(store: Path) -> bool:
    """The same agent removes its inbox if it has nothing to read, and writes anew a file that it has sent.

    Did it do one of the two?
    """
    home, does = store / "agents" / LINKED, False
    with contextlib.suppress(OSError):  # there is something, or no inbox
        (home / "inbox").rmdir()
        does = True
    for path in (home / "outbox").glob("*.msg"):
        # In place, and as if it were a moment younger: its number is the old one, and its time is not.
        with contextlib.suppress(FileNotFoundError), open(path, "r+b") as opened:
            opened.write(ANEW)
            opened.truncate()
            os.utime(opened.fileno(), ns=(_OLD_NS + 1_000_000, _OLD_NS + 1_000_000))
            does = True
    return does


class Writer:
    """Agents that write while the orchestrator works."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def write(self, store: Path, files: list[Any]) -> None:
        """A first half now, the others from a thread of their own."""
        self.wait()
        made = [message(*file) for file in files]
        half = (len(made) + 1) // 2
        put(store, made[:half], is_noted=True)
        self._thread = threading.Thread(target=put, args=(store, made[half:]), kwargs={"is_noted": True})
        self._thread.start()

    def wait(self) -> None:
        """Until all is written."""
        if self._thread is not None:
            self._thread.join()
