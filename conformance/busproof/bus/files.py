"""`files:CMD…`: an orchestrator of `relay` that runs by itself. Its contract is the folder; it needs no adapter.

The command is started with the folder in AGENT_RELAY_DIR and, as `~/.agent-relay`, below HOME. A `scan` waits until
the orchestrator has dealt with the files in the outboxes, and tells from the ledger what it did: `ledger.db`, with the
tables `messages` and `agents` of the contract. `hello` starts the command once on an empty folder: an orchestrator that
makes no such file there keeps a ledger of its own, of which nothing is asked, and is judged by its folders alone. A
`scan` then ends when no file comes or goes any more, and counts what came into the archive. The door does not ask for
anything else that an orchestrator may tell of itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from busproof.bus.asleep import come_to_rest
from busproof.bus.base import Lost, Refused, Spawn, patient
from busproof.bus.child import Child
from busproof.bus.scratch import scratch
from busproof.contract.relay import CONTRACT

LOOK_S, START_S, QUIET_S, END_S = 0.02, 15.0, 1.0, 10.0  # QUIET_S: settled files are found within half a second
RESTS = 6  # times that it comes to rest: it has started and waits for work, or it has ended
TREE: tuple[str, ...] = ("agents", "attachments", "archive", "tmp", ".lock")
FILES = ("agents/*/inbox/*", "agents/*/outbox/*.msg", "archive/*/*/*")  # that an orchestrator brings or takes
_TELLS: dict[tuple[str, ...], bool] = {}  # command → does it make the tables of the contract? Each is tried once
COUNTED = {"completed": ("completed", "archived"), "failed": ("failed",)}
HELLO = {
    "protocol": "1",
    "name": "an orchestrator of its own",
    "version": "?",
    "language": "?",
    "systems": ["relay"],
    "nouns": ["log", "cursor", "lease", "route", "blob", "retry", "limit", "export", "presence"],
    "clock": "wall",
}


class FilesDoor:
    """One process, started by `open` on its folder."""

    serves_many = True

    def __init__(self, argv: Sequence[str], spawn: Spawn = Child) -> None:
        self._argv, self._spawn = list(argv), spawn
        self._child: Child | None = None
        self._told: dict[Any, str] = {}
        self.store: Path | None = None

    @property
    def pid(self) -> int | None:
        """The process's id, which is its process group's too."""
        return self._child.pid if self._child else None

    @property
    def stderr(self) -> str:
        """The last lines the process wrote to stderr."""
        return self._child.stderr if self._child else ""

    def get_ready(self, system: str) -> None:
        """There is nobody to say hello to before there is a folder."""
        self.call("hello", {"protocol": ["1"], "system": system})

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """The answer of the folder."""
        function = getattr(self, f"_{method}", None) if method in CONTRACT.methods else None
        if function is None:
            raise Refused("-32601", f"{method} is not seen from the folder", definite=True, rpc=-32601)
        reply: dict[str, Any] = function(**params, timeout_s=patient(timeout_s))
        return reply

    def processes(self) -> list[Path]:
        """The process's own, and its helpers'."""
        return self._child.processes() if self._child else []

    def kill(self) -> None:
        """SIGKILL to the process's whole group."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def close(self) -> None:
        """SIGTERM, time to end, then kill."""
        self._close(timeout_s=END_S)

    # -- methods

    def _hello(self, protocol: list[str], system: str, timeout_s: float) -> dict[str, Any]:
        if system != CONTRACT.system:
            raise Refused("INVALID_ARGUMENT", f"files: is a door to {CONTRACT.system}", definite=True)
        command = tuple(self._argv)
        if command not in _TELLS:
            with scratch() as folder:
                (store := folder / "store").mkdir(mode=0o700)
                try:
                    self._open(str(store), {}, timeout_s)
                    _TELLS[command] = self._has_tables()
                finally:
                    self.kill()
                    self.store = None
        return HELLO | {"features": ["sqlite"] if _TELLS[command] else []}

    def _open(self, store: str, options: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        self.close()
        self.store = Path(store)
        self._told = {}
        with contextlib.suppress(sqlite3.Error):  # there is no ledger yet, or a harmed one, of which the bus will tell
            self._told = self._states()
        home = self.store.parent / "home"
        home.mkdir(exist_ok=True)
        if not (home / ".agent-relay").is_symlink():
            (home / ".agent-relay").symlink_to(self.store)
        was_there = (self.store / TREE[-1]).exists()
        self._child = self._spawn(self._argv, env={"AGENT_RELAY_DIR": store, "HOME": str(home)})
        is_open = self._until(self._is_made, START_S)
        # What was there says nothing of this process, which may be about to find the folder locked, nor does a tree
        # without a ledger, which may come last.
        if is_open and (was_there or not self._has_tables()):
            deadline = time.monotonic() + patient(START_S)
            for _ in range(RESTS):  # each with the processes of that moment: a wrapper's child may come late
                come_to_rest(self.processes(), deadline)
        if not is_open or not self._is_alive():
            errors = self.stderr[-300:]
            self.kill()
            why = errors or f"AGENT_RELAY_DIR did not hold {', '.join(TREE)} in {START_S:g} s"
            raise Refused("LOCKED" if "lock" in errors.lower() else "NOT_OPEN", why, definite=True)
        return {}

    def _close(self, timeout_s: float) -> dict[str, Any]:
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child.pid, signal.SIGTERM)
            self._until(lambda: not self._is_alive(), END_S)
            self.kill()
        return {}

    def _scan(self, timeout_s: float) -> dict[str, Any]:
        """Wait until nothing moves any more, and nothing waits to be found."""
        before, quiet_since = self._states(), time.monotonic()
        last, deadline = before, time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if not self._is_alive():
                raise Lost(f"the orchestrator has ended: {self.stderr[-300:]}")
            now = self._states()
            if now != last or "processing" in now.values():
                last, quiet_since = now, time.monotonic()
            if time.monotonic() - quiet_since >= QUIET_S:
                break
            time.sleep(LOOK_S)
        changed = {id_: status for id_, status in last.items() if self._told.get(id_) != status}
        new = len(last.keys() - self._told.keys())
        if not self._has_tables():  # whether a message failed, no folder says
            new = sum(path.startswith("archive/") for path in last.keys() - self._told.keys())
            changed = dict.fromkeys(range(new), "completed")
        self._told = last
        counts = {name: sum(status in of for status in changed.values()) for name, of in COUNTED.items()}
        return {"discovered": new, **counts, "retried": 0, "refused": 0}

    def _status(self, timeout_s: float) -> dict[str, Any]:
        """As the ledger says; without tables, which files wait and which were kept, and who has an inbox."""
        if not self._has_tables():
            places = [path.partition("/")[0] for path in self._states() if "/inbox/" not in path]
            assert self.store is not None
            names = sorted(path.parent.name for path in self.store.glob("agents/*/inbox"))
            counts = {"pending": places.count("agents"), "archived": places.count("archive")}
            return {
                **dict.fromkeys(("processing", "completed", "failed"), 0),
                **counts,
                "agents": [{"name": name, "status": "active"} for name in names],
            }
        with closing(self._ledger()) as db:
            count = dict(db.execute("SELECT status, count(*) FROM messages GROUP BY status").fetchall())
            agents = db.execute("SELECT name, status FROM agents ORDER BY name").fetchall()
        states = ("pending", "processing", "completed", "failed", "archived")
        counts = {state: count.get(state, 0) for state in states}
        return {**counts, "agents": [{"name": name, "status": status} for name, status in agents]}

    # -- looking

    def _ledger(self) -> sqlite3.Connection:
        assert self.store is not None
        return sqlite3.connect(f"{(self.store / CONTRACT.store).as_uri()}?mode=ro", uri=True, timeout=10)

    def _tables(self) -> set[str]:
        try:
            with closing(self._ledger()) as db:
                return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except sqlite3.Error:
            return set()

    def _has_tables(self) -> bool:
        """Does the orchestrator tell of its messages in the tables of the contract?"""
        return "messages" in self._tables()

    def _is_made(self) -> bool:
        assert self.store is not None
        return all(os.path.lexists(self.store / name) for name in TREE)

    def _states(self) -> dict[Any, str]:
        """What the ledger says of each message; without tables, which files there are."""
        if not self._has_tables():
            assert self.store is not None
            return {str(path.relative_to(self.store)): "" for form in FILES for path in self.store.glob(form)}
        with closing(self._ledger()) as db:
            return dict(db.execute("SELECT id, status FROM messages WHERE direction = 'outbox'").fetchall())

    def _is_alive(self) -> bool:
        return self._child is not None and not self._child.has_ended

    def _until(self, holds: Callable[[], bool], seconds: float) -> bool:
        end = time.monotonic() + patient(seconds)
        while not holds():
            if time.monotonic() > end or (self._child is not None and not self._is_alive()):
                return holds()
            time.sleep(LOOK_S)
        return True
