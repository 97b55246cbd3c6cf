"""The kit's side of `toml:`: the adapter's process, and all that works for it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from busproof.bus.base import Spawn
from busproof.bus.child import Child
from busproof.bus.doors import BusSpecError
from busproof.bus.stdio import StdioDoor
from busproof.bus.toml.form import FormError, load


class TomlDoor(StdioDoor):
    """An adapter. The programs of the bus run in its process group, and a kill reaches them all."""

    def __init__(self, argv: Sequence[str], spawn: Spawn = Child) -> None:
        try:
            door = load(Path(argv[-1])).door
        except FormError as error:
            raise BusSpecError(str(error)) from None
        self._start_s = door.start_s if door.server or door.mcp else 0.0
        super().__init__(argv, spawn)

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """Within the time, and that of a server that the call may have to start."""
        return super().call(method, params, timeout_s=timeout_s + self._start_s)

    def processes(self) -> list[Path]:
        """Those of the group: while the adapter waits, they work."""
        return [process for process in Path("/proc").glob("[0-9]*") if _group(process) == self.pid]


def _group(process: Path) -> int:
    with contextlib.suppress(OSError):
        return os.getpgid(int(process.name))
    return -1
