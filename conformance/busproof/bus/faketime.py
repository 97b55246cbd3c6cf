"""`faketime:exec:CMD…`, `faketime:mcp:CMD…`: a bus that cannot be told the time, with a clock that the kit sets.

libfaketime is loaded before the program's own libraries and answers when it asks for the time of day. The answer
stands in a file, one for each session, so that two agents' clocks may differ. The time stands still between two
`clock.set`; the monotonic clock, sleeps and the times of files stay real.

A program that asks the kernel past its C library (a static binary, Go's runtime) would keep the real time, and be
blamed for it. So before the first row a store is tried out at a time long ago: a bus that does not load the library,
or whose answers carry today, is refused here.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.util
import math
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from busproof.bus.base import DoorError, Spawn
from busproof.bus.child import Child
from busproof.bus.mcp import McpDoor
from busproof.bus.stdio import StdioDoor
from busproof.contract import CONTRACTS

HOW_TO_GET = "pip install '.[faketime]' in busproof's folder, or on Debian: apt-get install libfaketime"
START_MS = 1_768_053_600_000  # the time of a session that opens a store before it is told the time
LONG_AGO_MS = 1_000_000_000_000  # September 2001: no answer carries it by chance
NOW_MS_MAX = (2**63 - 1) // 1_000_000  # the year 2262: nanoseconds in 64 bits end there
DAY_MS = 86_400_000
_UNITS_MS = (1000.0, 1.0, 1e-3, 1e-6)  # of a number in seconds, milli-, micro- and nanoseconds
_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
_FOLLOWS: set[tuple[str, ...]] = set()  # command, system: tried out by this process
_LAST_MS: dict[str, int] = {}  # store → the time that its sessions were last told


def library() -> Path:
    """libfaketime of this Python, or of the system."""
    package = importlib.util.find_spec("libfaketime")
    if package is not None and package.origin:
        vendored = Path(package.origin).parent / "vendor/libfaketime/src/libfaketime.so.1"
        if vendored.exists():
            return vendored
    for folder in _FOLDERS:
        # The variant for threads first; Debian's folder has the machine's name before it.
        for path in sorted(Path(folder).glob("**/faketime/libfaketime*.so.1"), reverse=True):
            return path
    raise DoorError(f"there is no libfaketime: {HOW_TO_GET}")


class Clock:
    """The time of one session, in a file, and the processes that are started under it."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._folder = tempfile.TemporaryDirectory(prefix="busproof-clock-")
        self._file = Path(self._folder.name) / "now"
        self._pids: list[int] = []
        self.set(START_MS)

    def __call__(self, argv: Sequence[str], /, *, env: Mapping[str, str] | None = None) -> Child:
        """Start a process under this clock."""
        loaded = (env or {}).get("LD_PRELOAD", os.environ.get("LD_PRELOAD", ""))
        ours = {
            "LD_PRELOAD": f"{library()}:{loaded}".rstrip(":"),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_FMT": "%s",
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",  # its name in older versions
            "NO_FAKE_STAT": "1",
        }
        child = self._spawn(argv, env={**(env or {}), **ours})
        self._pids.append(child.pid)
        return child

    def set(self, now_ms: int) -> None:
        """From now on this is the time, and a moment more, or a bus that cuts a fraction off would lose a millisecond.

        It is half a microsecond; in far years as much as lies between two floats that tell the time in seconds.
        """
        more_ns = max(500, math.ceil(math.ulp(now_ms / 1000) * 1e9))
        new = self._file.with_suffix(".new")
        new.write_text(f"{now_ms // 1000}.{now_ms % 1000:03}{more_ns:06}", encoding="ascii")
        new.replace(self._file)

    def close(self) -> None:
        """Remove the file, and the library's leftovers in shared memory."""
        for pid in self._pids:
            for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
                with contextlib.suppress(OSError):
                    Path("/dev/shm", name).unlink()
        self._pids.clear()
        self._folder.cleanup()


if TYPE_CHECKING:
    _Door = StdioDoor
else:
    _Door = object


class _Faked(_Door):
    """The clock's part in a door whose processes it starts."""

    def __init__(self, argv: Sequence[str], spawn: Spawn = Child) -> None:
        self._clock = Clock(spawn)
        self._command = tuple(argv)
        try:
            super().__init__(argv, self._clock)
        except BaseException:
            self._clock.close()
            raise

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """`clock.set` is answered here; `hello` tells of it once it is known that the bus follows."""
        match method:
            case "clock.set":
                self._clock.set(params["now_ms"])
                _LAST_MS[str(self.store)] = params["now_ms"]
                return {}
            case "open":
                self._clock.set(_LAST_MS.get(str(params["store"]), START_MS))
            case "hello":
                reply = super().call(method, params, timeout_s=timeout_s)
                known, system = (*self._command, params["system"]), str(params["system"])
                if known not in _FOLLOWS and system in str(reply.get("systems")):
                    self._try_out(system)
                    _FOLLOWS.add(known)
                limits = reply.get("limits", {})
                if isinstance(limits, dict):
                    limits = limits | {"now_ms_max": NOW_MS_MAX}
                return {**reply, "clock": "manual", "limits": limits}
        return super().call(method, params, timeout_s=timeout_s)

    def kill(self) -> None:
        """As the door; then the clock is put away."""
        super().kill()
        self._clock.close()

    def close(self) -> None:
        """The same, politely."""
        super().close()
        self._clock.close()

    def _try_out(self, system: str) -> None:
        """Raise DoorError unless the bus lives at the time that it is told."""
        with tempfile.TemporaryDirectory(prefix="busproof-clock-") as store:
            super().call("open", {"store": store, "options": {}})
            self._clock.set(LONG_AGO_MS)
            answers = [self._tried(method, dict(params)) for method, params in CONTRACTS[system].trials.items()]
            is_loaded = any(_has_loaded(process, library().name) for process in self.processes())
            super().call("close", {})
        today = next((text for text, ms in _times(answers) if abs(ms - time.time() * 1000) < DAY_MS), None)
        if not is_loaded or today is not None:
            why = f"its answers carry {today}" if is_loaded else "it does not load libfaketime"
            raise DoorError(
                f"the clock of this bus cannot be set from outside: {why}. A static binary, or one that asks the kernel"
                " itself, keeps the real time; let its adapter answer clock.set, or check it without --clock"
            )

    def _tried(self, method: str, params: dict[str, Any]) -> object:
        with contextlib.suppress(DoorError):  # the bus may not have the noun
            return super().call(method, params)
        return None


class FaketimeStdioDoor(_Faked, StdioDoor):
    """`exec:` under a clock of the kit's."""


class FaketimeMcpDoor(_Faked, McpDoor):
    """`mcp:` under a clock of the kit's."""


def _has_loaded(process: Path, name: str) -> bool:
    with contextlib.suppress(OSError):
        return name in (process / "maps").read_text(encoding="utf-8", errors="replace")
    return False


def _times(value: object) -> Iterator[tuple[str, float]]:
    """All values in an answer that may be a moment, in epoch milliseconds: ISO dates, and numbers in any unit."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for member in value:
            yield from _times(member)
    elif isinstance(value, str):
        with contextlib.suppress(ValueError):
            moment = datetime.datetime.fromisoformat(value)
            yield value, moment.replace(tzinfo=moment.tzinfo or datetime.UTC).timestamp() * 1000
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            yield from ((str(value), value * unit_ms) for unit_ms in _UNITS_MS)
