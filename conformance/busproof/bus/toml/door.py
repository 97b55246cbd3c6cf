"""The kit's side of `toml:`: the adapter's process, and all that works for it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from busproof.bus.base import Spawn
from busproof.bus.child import Child
from busproof.bus.doors import BusSpecError
from busproof.bus.stdio import StdioDoor
from busproof.bus.toml.form import PIDS, FormError, load


class TomlDoor(StdioDoor):
    """An adapter. The programs of the bus run in its process group, and a kill reaches them all."""

    def __init__(self, argv: Sequence[str], spawn: Spawn = Child) -> None:
        try:
            form = load(Path(argv[-1]))
        except FormError as error:
            raise BusSpecError(str(error)) from None
        self._start_s = form.door.start_s if form.door.server or form.door.mcp else 0.0
        self._needs_pids = form.names.needs_pid
        super().__init__(argv, spawn)

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """Within the time, and that of a server that the call may have to start."""
        if self._needs_pids:
            names = [params[key] for key in ("agent_id", "to") if isinstance(params.get(key), str)]
            params = {**params, PIDS: {name: _SLEEPERS.pid(name) for name in names}}
        return super().call(method, params, timeout_s=timeout_s + self._start_s)

    def processes(self) -> list[Path]:
        """Those of the group: while the adapter waits, they work."""
        return [process for process in Path("/proc").glob("[0-9]*") if _group(process) == self.pid]


class Sleepers:
    """A process for each agent, which the agent is to its bus: in all of its sessions, and in every copy of a store.

    The kit starts it, so neither a kill of a session nor a supervisor reaches it, and others can write to the agent at
    any time. It sleeps until the end of the pipe that the kit's process holds: until the kit ends, however that ends.
    """

    def __init__(self) -> None:
        self._of: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def pid(self, agent: str) -> int:
        """That of the agent's process, which is started if the agent is new."""
        none = subprocess.DEVNULL
        with self._lock:
            if agent not in self._of:
                self._of[agent] = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=none, stderr=none)
            return self._of[agent].pid


_SLEEPERS = Sleepers()


def _group(process: Path) -> int:
    with contextlib.suppress(OSError):
        return os.getpgid(int(process.name))
    return -1
