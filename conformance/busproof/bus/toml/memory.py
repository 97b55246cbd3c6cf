"""What the adapters of one store share: who is called what, what sessions saved, whether the store is prepared.

A file in the store, behind a lock: a copy of the store takes it along, and a new process of an agent resumes with it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from busproof.bus.base import Refused
from busproof.bus.toml.form import Names
from busproof.lock import take

BEGUN = "begun"  # a step like those of the file: behind them all


class Memory:
    """Of one store. Each look reads the file again: other processes write to it."""

    def __init__(self, store: Path, names: Names) -> None:
        self._folder = store / "door"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = self._folder / "memory.json"
        self._names = names

    @contextlib.contextmanager
    def new(self) -> Iterator[bool]:
        """Is the store new? After the block it is not; nobody else gets in meanwhile."""
        with self._alone() as memory:
            yield not memory["prepared"]
            memory["prepared"] = True

    def name(self, agent: str) -> str:
        """What the bus calls the agent in its own calls."""
        known = self._read()["agents"].get(agent)
        if known is None:
            with self._alone() as memory:
                number = len(memory["agents"]) + 1
                name = self._names.pattern.replace("{n}", str(number)).replace("{name}", agent)
                known = memory["agents"].setdefault(agent, {"name": name, "saved": {}, "steps": []})
        return str(known["name"])

    def knows(self, agent: str) -> bool:
        """Has a session of the agent begun on this store, to its last step?"""
        return not self.first_time(agent, BEGUN)

    def saved(self, agent: str) -> dict[str, Any]:
        """The variables of the agent."""
        return dict(self._read()["agents"].get(agent, {}).get("saved", {}))

    def save(self, agent: str, values: dict[str, Any]) -> None:
        """Keep variables of the agent."""
        if {**self.saved(agent), **values} != self.saved(agent):
            try:
                with self._alone() as memory:
                    memory["agents"][agent]["saved"].update(values)
            except Refused as error:  # the bus has answered already
                raise Refused(error.code, error.message, definite=False) from error

    def first_time(self, agent: str, step: str) -> bool:
        """Has the agent not done this step on this store?"""
        return step not in self._read()["agents"].get(agent, {}).get("steps", [])

    def did(self, agent: str, step: str) -> None:
        """From now on the agent has done this step."""
        with self._alone() as memory:
            memory["agents"][agent]["steps"].append(step)

    def address(self, agent: str) -> Any:
        """What others write to, if it is known."""
        if self._names.address is None:
            return self.name(agent)
        return self.saved(agent).get(self._names.address)

    def agent(self, name: Any) -> str | None:
        """The agent that the bus calls so."""
        if name is None:
            return None
        for agent, known in self._read()["agents"].items():
            if name in (known["name"], known["saved"].get(self._names.address)):
                return str(agent)
        return str(name)

    def names(self) -> dict[str, str]:
        """What the bus calls the agents."""
        return {agent: str(self.address(agent) or known["name"]) for agent, known in self._read()["agents"].items()}

    def _read(self) -> dict[str, Any]:
        with contextlib.suppress(FileNotFoundError):
            return dict(json.loads(self._file.read_text(encoding="utf-8")))
        return {"prepared": False, "agents": {}}

    @contextlib.contextmanager
    def _alone(self) -> Iterator[dict[str, Any]]:
        """The memory, to be changed; it is written whole, or not at all."""
        try:
            with (self._folder / "lock").open("a") as lock:
                take(lock, waits=True)
                memory = self._read()
                yield memory
                new = self._file.with_suffix(".new")
                with new.open("w", encoding="utf-8") as file:
                    json.dump(memory, file)
                    file.flush()
                    os.fsync(file.fileno())
                new.replace(self._file)
        except OSError as error:
            raise refused(error) from error


def refused(error: OSError) -> Refused:
    """The disk's own refusal of what the door keeps; nothing has been asked of the bus."""
    return Refused("DISK_FULL" if error.errno == errno.ENOSPC else "IO_ERROR", str(error), definite=True)
