"""The kit's side of `toml:`: the adapter's process, and all that works for it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from busproof.bus.base import Spawn
from busproof.bus.child import Child
from busproof.bus.doors import BusSpecError
from busproof.bus.stdio import StdioDoor
from busproof.bus.toml.form import FormError, load


class TomlDoor(StdioDoor):
    """An adapter. The programs of the bus run in its process group, and a kill reaches them all."""

    def __init__(self, argv: Sequence[str], spawn: Spawn = Child) -> None:
        try:
            load(Path(argv[-1]))
        except FormError as error:
            raise BusSpecError(str(error)) from None
        super().__init__(argv, spawn)

    def processes(self) -> list[Path]:
        """Those of the group: while the adapter waits, they work."""
        return [one for one in Path("/proc").glob("[0-9]*") if _group(one) == self.pid]


def _group(process: Path) -> int:
    with contextlib.suppress(OSError):
        return os.getpgid(int(process.name))
    return -1
