"""The kit's side of `toml:`: the adapter's process, and all that works for it."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from busproof.bus.base import Spawn
from busproof.bus.child import Child
from busproof.bus.doors import BusSpecError
from busproof.bus.stdio import StdioDoor
from busproof.bus.toml.form import PIDS, FormError, load
from busproof.lock import take

SLEEPERS, END = "BUSPROOF_SLEEPERS", "end"
MANY_S = 600.0  # for an operation of any number of calls, each of which has a time of its own


class TomlDoor(StdioDoor):
    """An adapter. The programs of the bus run in its process group, and a kill reaches them all."""

    def __init__(self, argv: Sequence[str], spawn: Spawn = Child) -> None:
        try:
            form = load(Path(argv[-1]))
        except FormError as error:
            raise BusSpecError(str(error)) from None
        self._start_s = form.door.start_s if form.door.server or form.door.mcp else 0.0
        self._own_s: dict[str, float] = {}
        for name, mapped in (pair for way in (form, form.also) if way for pair in way.operations.items()):
            own_s = sum(step.timeout_s for step in (*mapped.before, mapped)) + (MANY_S if mapped.is_many else 0.0)
            self._own_s[name] = max(own_s, self._own_s.get(name, 0.0))
        self._needs_pids = form.names.needs_pid
        if self._needs_pids:
            _sleepers()  # before the processes of the kit that share them
        super().__init__(argv, spawn)

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """Within the time, and that of a server that the call may have to start, and what the file gives each step."""
        if self._needs_pids:
            names = [params[key] for key in ("agent_id", "to") if isinstance(params.get(key), str)]
            params = {**params, PIDS: {name: pid_of(name) for name in names}}
        return super().call(method, params, timeout_s=timeout_s + self._start_s + self._own_s.get(method, 0.0))

    def processes(self) -> list[Path]:
        """Those of the group: while the adapter waits, they work."""
        return [process for process in Path("/proc").glob("[0-9]*") if _group(process) == self.pid]


def pid_of(agent: str) -> int:
    """That of the process which an agent is to its bus: in all of its sessions, and in every copy of a store.

    The kit starts it, so neither a kill of a session nor a supervisor reaches it, and others can write to the agent at
    any time. It sleeps until the end of a pipe that the first process of the kit holds, however that process ends.
    """
    folder = _sleepers()
    known = folder / hashlib.sha256(agent.encode(errors="surrogatepass")).hexdigest()
    with (folder / "lock").open("a") as lock:
        take(lock, waits=True)
        if not known.exists():
            streams = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
            pid = os.posix_spawnp("cat", ["cat", str(folder / END)], os.environ, file_actions=streams)
            known.write_text(f"{pid}")
        return int(known.read_text())


def _sleepers() -> Path:
    """What the processes of one run of the kit share: they inherit its name, or are given it with their environment."""
    if SLEEPERS not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="busproof-agents-"))
        os.mkfifo(folder / END)
        os.open(folder / END, os.O_RDWR)  # and nobody closes it
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ[SLEEPERS] = str(folder)
    return Path(os.environ[SLEEPERS])


def _group(process: Path) -> int:
    with contextlib.suppress(OSError):
        return os.getpgid(int(process.name))
    return -1
