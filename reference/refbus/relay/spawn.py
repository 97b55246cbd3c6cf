"""Spawn and release (4.3, 4.4): agents that are processes of ours.

A message never says what is run: CLI names an entry of config.json, whose argv is run without a shell (R5).

    intent (operation) → process behind its gate → its pid in the ledger → go → message and operation are done
"""

from __future__ import annotations

import json
import logging
import os
import secrets
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

from refbus.kernel.files import atomic_write
from refbus.kernel.msgfile import Message
from refbus.kernel.transaction import Transaction
from refbus.relay import names, tree
from refbus.relay.deliver import begin, end
from refbus.relay.failure import Failure
from refbus.relay.ledger import Row
from refbus.relay.presence import Presence
from refbus.relay.processes import Processes, Started, Target
from refbus.relay.store import Store

log = logging.getLogger("refbus.relay.spawn")
SPAWN_KEYS = ("NAME", "CLI", "PROMPT", "WORKING_DIR", "ENV")
RELEASE_KEYS = ("NAME", "REASON")
DONE = Callable[[Transaction], None]  # written together with the message's completion


class Program(NamedTuple):
    """A program that is to be run."""

    name: str
    argv: list[str]
    folder: Path
    env: dict[str, str]


class Spawns:
    """The operations `spawn` and `release` of pending_operations."""

    def __init__(self, store: Store, presence: Presence, processes: Processes) -> None:
        self._store, self._presence, self._processes = store, presence, processes

    def spawn(self, row: Row, message: Message) -> DONE:
        """Start a process. Raises bad_request, denied, agent_exists, spawn_failed."""
        program = self._program(_fields(message, SPAWN_KEYS, "PROMPT"))
        self._refuse_known(program.name)
        token = secrets.token_hex(16)
        with self._store.transaction() as tx:
            operation = begin(tx, "spawn", {"message": row.id, "name": program.name, "token": token})
            # Before its folder: one that is found without a row is an agent that joined by itself.
            tx.execute(
                "INSERT OR IGNORE INTO agents (name, registered_at, status) VALUES (?, ?, 'terminated')",
                (program.name, tx.now_ms),
            )
        try:
            if self._presence.make_folders(program.name):
                raise Failure("spawn_failed", "its folder is no folder")
            if self._meta(program.name).is_dir():
                raise Failure("spawn_failed", "its meta.json is a folder")
            started = self._start(program, token)
            self._register(program.name, started.target)
            started.go()
        except Failure:
            self._undo(operation, program.name)
            raise
        self._processes.keep(started)
        log.info("spawned", extra={"agent": program.name, "pid": started.target.pid, "argv": program.argv[:1]})
        return lambda tx: end(tx, operation)

    def release(self, row: Row, message: Message) -> DONE:
        """End an agent, and everything that it started. Raises bad_request, unknown_agent."""
        name = _name(_fields(message, RELEASE_KEYS, "REASON"))
        agent_row = self._store.db.row("SELECT status FROM agents WHERE name = ?", (name,))
        if agent_row is None or agent_row[0] == "terminated":
            raise Failure("unknown_agent", name, is_final=True)
        with self._store.transaction() as tx:
            operation = begin(tx, "release", {"message": row.id, "name": name})
        self.end([name])

        def done(tx: Transaction) -> None:
            terminate(tx, name)
            end(tx, operation)

        return done

    def end(self, agents: list[str]) -> None:
        """End the processes of these agents, all at once."""
        targets = [target for name, target in self._targets() if name in agents]
        if targets:
            self._processes.end(targets, self._store.config.grace_ms)

    def end_all(self) -> None:
        """End every process that was started here: nothing outlives a clean shutdown."""
        agents = [name for name, _ in self._targets()]
        if not agents:
            return
        self.end(agents)
        with self._store.transaction() as tx:
            for name in agents:
                terminate(tx, name)

    def running(self) -> list[tuple[str, Target]]:
        """Agents whose process lives, and its identity."""
        return [(name, target) for name, target in self._targets() if self._processes.is_alive(target)]

    def adopt(self, running: list[tuple[str, Target]]) -> None:
        """Enter these processes in a ledger that replaced another, too: nothing of ours outlives us."""
        with self._store.transaction() as tx:
            for name, target in running:
                _enter(tx, name, target)

    def bury(self) -> None:
        """Terminate agents whose process is gone, and end everything that it left behind."""
        dead = [name for name, target in self._targets() if not self._processes.is_alive(target)]
        if dead:
            self.end(dead)
            with self._store.transaction() as tx:
                for name in dead:
                    terminate(tx, name)

    def recover(self, tx: Transaction, operation: int, kind: str, payload: dict[str, Any]) -> bool:
        """Finish what a dead orchestrator had begun; True: its message is done."""
        if kind == "release":
            self.end([payload["name"]])
            terminate(tx, payload["name"])
            end(tx, operation)
            return True
        ticket = self._ticket(payload["token"])
        was_recorded = tx.row("SELECT 1 FROM processes WHERE token = ?", (payload["token"],)) is not None
        try:
            ticket.unlink()
            has_run = False
        except FileNotFoundError:
            has_run = was_recorded
        if not has_run:
            self._processes.end([Target(0, 0, payload["token"])], 0)
            if was_recorded:
                terminate(tx, payload["name"])
        end(tx, operation)
        return has_run

    def _targets(self) -> list[tuple[str, Target]]:
        """Agents with a process, and its identity."""
        rows = self._store.db.rows("SELECT agent_name, pid, started, token FROM processes ORDER BY agent_name")
        return [(name, Target(pid, started, token)) for name, pid, started, token in rows]

    def _program(self, wanted: dict[str, str]) -> Program:
        config = self._store.config
        name = _name(wanted)
        if not wanted.get("CLI"):
            raise Failure("bad_request", "CLI is missing")
        variables = _variables(wanted.get("ENV", ""))
        argv = config.clis.get(wanted["CLI"])
        if argv is None:
            raise Failure("denied", f"CLI {wanted['CLI']!a:.80}")
        environment = {
            **os.environ,
            **self._environment(variables),
            "AGENT_RELAY_NAME": name,
            "AGENT_RELAY_DIR": str(self._store.root),
        }
        prompt = [wanted["PROMPT"]] if wanted.get("PROMPT") else []
        if any("\0" in text for text in prompt):
            raise Failure("bad_request", "PROMPT holds a NUL")
        return Program(name, [*argv, *prompt], self._folder(name, wanted.get("WORKING_DIR")), environment)

    def _environment(self, variables: list[tuple[str, str]]) -> dict[str, str]:
        for key, _ in variables:
            if key not in self._store.config.env:
                raise Failure("denied", f"ENV {key!a:.80}")
        return dict(variables)

    def _folder(self, name: str, working_dir: str | None) -> Path:
        """WORKING_DIR, if it lies in one of the roots wherever links lead; the agent's own folder where it is None."""
        if working_dir is None:
            return self._store.root / tree.AGENTS / name
        if "\0" in working_dir or not os.path.isabs(working_dir):
            raise Failure("denied", f"WORKING_DIR {working_dir!a:.80}")
        real = Path(os.path.realpath(working_dir))
        roots = (Path(os.path.realpath(root)) for root in self._store.config.roots)
        if not any(real.is_relative_to(root) for root in roots) or not real.is_dir():
            raise Failure("denied", f"WORKING_DIR {working_dir!a:.80}")
        return real

    def _refuse_known(self, name: str) -> None:
        agent_row = self._store.db.row("SELECT status FROM agents WHERE name = ?", (name,))
        if agent_row is not None and agent_row[0] != "terminated":
            raise Failure("agent_exists", name)

    def _start(self, program: Program, token: str) -> Started:
        own = self._store.root / tree.AGENTS / program.name
        try:
            return Started(
                program.argv,
                cwd=program.folder,
                env=program.env,
                token=token,
                output=own / "output.log",
                ticket=self._ticket(token),
            )
        except OSError as error:
            raise Failure("spawn_failed", str(error)) from error

    def _register(self, name: str, target: Target) -> None:
        meta = {"name": name, "pid": target.pid, "started_at": self._store.clock.now_ms()}
        atomic_write(self._meta(name), json.dumps(meta).encode())
        with self._store.transaction() as tx:
            _enter(tx, name, target)

    def _meta(self, name: str) -> Path:
        return self._store.root / tree.AGENTS / name / "meta.json"

    def _undo(self, operation: int, name: str) -> None:
        with self._store.transaction() as tx:
            if tx.row("SELECT 1 FROM processes WHERE agent_name = ?", (name,)) is not None:
                terminate(tx, name)
            end(tx, operation)

    def _ticket(self, token: str) -> Path:
        return self._store.root / tree.TMP / f"{token}.ticket"


def _enter(tx: Transaction, name: str, target: Target) -> None:
    """Record that an agent is this process."""
    tx.execute(
        "INSERT INTO agents (name, registered_at, pid, status) VALUES (?, ?, ?, 'active') "
        "ON CONFLICT (name) DO UPDATE SET pid = excluded.pid, status = 'active'",
        (name, tx.now_ms, target.pid),
    )
    tx.execute(
        "INSERT OR REPLACE INTO processes (agent_name, pid, started, token) VALUES (?, ?, ?, ?)", (name, *target)
    )


def terminate(tx: Transaction, name: str) -> None:
    """The agent is gone; only a spawn brings it back."""
    log.info("terminated", extra={"agent": name})
    tx.execute("UPDATE agents SET status = 'terminated', pid = NULL WHERE name = ?", (name,))
    tx.execute("DELETE FROM processes WHERE agent_name = ?", (name,))


def _fields(message: Message, keys: tuple[str, ...], long: str) -> dict[str, str]:
    """The fields of the body; and headers of the same names, where it has none (R6)."""
    headers = {key: value for key, value in message.others if key in keys}
    return headers | read_fields(message.body, keys, long=long)


def read_fields(body: str, keys: Collection[str], *, long: str = "") -> dict[str, str]:
    """The fields of a body: `KEY: value` lines. Lines below the field `long` that are none of the keys belong to it.

    Raises bad_request for a line that is no field, and for a field that stands twice.
    """
    fields: dict[str, str] = {}
    last = ""
    for line in body.split("\n"):
        key, colon, value = line.partition(":")
        if colon and key in keys:
            if key in fields:
                raise Failure("bad_request", f"{key} stands twice")
            fields[key], last = value if key == long else value.strip(), key
        elif long and last == long:
            fields[long] += f"\n{line}"
        elif line.strip():
            raise Failure("bad_request", f"no field: {line!a:.80}")
    if long in fields:
        fields[long] = fields[long].strip()
    return fields


def _variables(env_text: str) -> list[tuple[str, str]]:
    """The items of ENV. A request of a bad form is that, whatever config.json allows."""
    variables = []
    for item in env_text.split(",") if env_text else []:
        key, equals, value = item.partition("=")
        if not equals:
            raise Failure("bad_request", f"ENV {item!a:.80}")
        if "\0" in value:
            raise Failure("bad_request", "ENV holds a NUL")
        variables.append((key.strip(), value))
    return variables


def _name(wanted: dict[str, str]) -> str:
    name = wanted.get("NAME", "")
    if not names.is_agent_name(name):
        raise Failure("bad_request", f"NAME {name!a:.80}")
    return name
