"""Agents: a folder below agents/ is one. Each is active, silent or gone.

(new folder) → active ⇄ inactive      nothing sent for agent_timeout_ms, and back with the next file
active, inactive → terminated         released, or its process is gone; only a spawn brings it back
"""

from __future__ import annotations

import errno
import logging
import os
import stat as modes
from typing import NamedTuple

from refbus.kernel.msgfile import Stat
from refbus.kernel.transaction import Transaction
from refbus.relay import names, tree
from refbus.relay.audit import Audit
from refbus.relay.store import Store

log = logging.getLogger("refbus.relay.presence")


class Refusal(NamedTuple):
    """Something that is not entered."""

    event: str
    path: str
    stat: Stat


class Presence:
    """The table agents, and the folders behind it."""

    def __init__(self, store: Store, audit: Audit) -> None:
        self._store, self._audit = store, audit

    def refresh(self) -> list[str]:
        """Take in new agents, note those gone silent. Returns the agents whose outboxes are to be scanned."""
        present, refusals = self._folders()
        known = {name for (name,) in self._store.db.rows("SELECT name FROM agents")}
        new = [name for name in present if name not in known]
        new = [name for name in new if self._is_made(name, refusals)]
        silent = self._silent()
        if new or refusals or silent:
            with self._store.transaction() as tx:
                for refusal in refusals:
                    self._audit.add(tx, refusal.event, refusal.path, None, refusal.stat)
                tx.executemany(
                    "INSERT OR IGNORE INTO agents (name, registered_at, status) VALUES (?, ?, 'active')",
                    [(name, tx.now_ms) for name in new],
                )
                tx.executemany("UPDATE agents SET status = 'inactive' WHERE name = ?", [(name,) for name in silent])
            for event, agents in (("agent_registered", new), ("agent_inactive", silent)):
                for name in agents:
                    log.info(event, extra={"agent": name})
        return [name for name in present if name in known or name in new]

    def make_folders(self, name: str) -> list[Refusal]:
        """Make an agent's folders; return the thing that stands in the place of one that cannot be made."""
        try:
            tree.make_agent(self._store.root, name)
        except PermissionError:
            return []  # it lets nobody in: the scan says so
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            return self._obstacles(name)
        return []

    def seen(self, tx: Transaction, name: str) -> None:
        """A file of this agent entered the ledger."""
        tx.execute(
            "UPDATE agents SET last_seen_at = ?, status = CASE status WHEN 'inactive' THEN 'active' ELSE status END "
            "WHERE name = ?",
            (tx.now_ms, name),
        )

    def tell_inbox(self, tx: Transaction, name: str) -> None:
        """Nothing can be put into its inbox: record what stands there, if it is no folder."""
        refusal = self._obstacle(name, tree.INBOX)
        if refusal is not None:
            self._audit.add(tx, refusal.event, refusal.path, None, refusal.stat)

    def _is_made(self, name: str, refusals: list[Refusal]) -> bool:
        """A new agent's folders are there. False: its disk makes none now, so it is new again in the next pass."""
        try:
            refusals += self.make_folders(name)
        except OSError as error:
            self._store.troubles.add(f"{tree.AGENTS}/{name}", error)
            return False
        return True

    def _silent(self) -> list[str]:
        """Active agents without a process of ours that sent nothing for too long."""
        latest_ms = self._store.clock.now_ms() - self._store.config.agent_timeout_ms
        rows = self._store.db.rows(
            "SELECT name FROM agents WHERE status = 'active' AND pid IS NULL "
            "AND COALESCE(last_seen_at, registered_at) <= ?",
            (latest_ms,),
        )
        return [name for (name,) in rows]

    def _folders(self) -> tuple[list[str], list[Refusal]]:
        """Agents by name, and what lies among them and is no agent."""
        present: list[str] = []
        refusals: list[Refusal] = []
        with tree.folder(self._store.root, tree.AGENTS) as fd, os.scandir(fd) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if names.is_agent_name(entry.name):
                        present.append(entry.name)
                        continue
                    event = "bad_agent_name"
                elif entry.is_symlink():
                    event = "symlink"
                else:
                    continue
                try:
                    what = tree.identity(tree.look(entry.name, fd))
                except FileNotFoundError:
                    continue
                refusals.append(Refusal(event, f"{tree.AGENTS}/{names.printable(entry.name)}", what))
        return sorted(present), refusals

    def _obstacles(self, name: str) -> list[Refusal]:
        """The first of the agent's folders that is no folder."""
        folders = ((tree.OUTBOX,), (tree.OUTBOX, tree.PENDING), (tree.INBOX,))
        obstacles = (self._obstacle(name, *parts) for parts in folders)
        return [obstacle for obstacle in obstacles if obstacle][:1]

    def _obstacle(self, *parts: str) -> Refusal | None:
        path = "/".join((tree.AGENTS, *parts))
        try:
            status = os.lstat(self._store.root / path)
        except OSError:
            return None
        if modes.S_ISDIR(status.st_mode):
            return None
        return Refusal("symlink" if modes.S_ISLNK(status.st_mode) else "not_regular", path, tree.stat_of(status))
