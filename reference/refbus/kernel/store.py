"""The base of every face's store: one database file, a clock, transactions with their moment, and waiting.

A face's store derives from it, adds its folders and options, and calls `open`:

    class Store(kernel.store.Store):
        def __init__(self, folder, *, clock=None, synchronous="NORMAL"):
            super().__init__(folder / "bus.db", clock=clock, synchronous=synchronous)
            self.open(SCHEMA)
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from refbus.kernel.clock import Clock
from refbus.kernel.db import Block, Database
from refbus.kernel.face import Face
from refbus.kernel.rules import limit as limits
from refbus.kernel.schema import Schema
from refbus.kernel.transaction import Transaction
from refbus.kernel.wake import Waiters

Found = TypeVar("Found")


class Store(Face):
    """A database file in an existing folder. Nothing is opened or made before it is used. Threads may share it."""

    def __init__(
        self, path: Path, *, clock: Clock | None = None, synchronous: str = "NORMAL", pragmas: Sequence[str] = ()
    ) -> None:
        limits.one_of("synchronous", synchronous, ("NORMAL", "FULL"))
        self.clock = clock or Clock()
        self.path = path
        self.db = Database(path, synchronous=synchronous, pragmas=pragmas)
        self.waiters = Waiters(path.parent, f"{path.name}-wal", self.version)

    def open(self, schema: Schema) -> None:
        """Leave the file with everything that the schema asks for, or raise SCHEMA_MISMATCH and change nothing.

        Other threads may use the store already: after an error only this one's connection is closed.
        """
        try:
            # Not through an override: a face may open its file by its first transaction.
            with Store.transaction(self, "BEGIN") as tx:
                is_current = schema.is_current(tx)
            if not is_current:
                with Store.transaction(self) as tx:
                    schema.bring_up_to_date(tx)
        except BaseException:
            self.db.close_mine()
            raise

    def close(self) -> None:
        """Close all connections and watches."""
        self.waiters.close()
        self.db.close()

    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> contextlib.AbstractContextManager[Transaction]:
        """Everything in the block or nothing of it. The lock is taken at its start, and then the time is read."""
        return Block(self.db, begin, self._now)

    def _now(self, connection: sqlite3.Connection) -> Transaction:
        return Transaction(connection, self.clock.now_us())

    def snapshot(self) -> contextlib.AbstractContextManager[Transaction]:
        """Reads that see one moment, and wait for nobody."""
        return self.transaction("BEGIN")

    def version(self) -> int:
        """Another number after every commit of another connection."""
        return self.db.version()

    def wait_for(self, look: Callable[[], Found], wait_s: float) -> Found:
        """Look until something is found, or until wait_s of real time are over: a clock may stand still."""
        deadline = time.monotonic() + wait_s
        with self.waiters.borrow() as waiter:
            while True:
                answer = look()
                left_s = deadline - time.monotonic()
                if answer or left_s <= 0:
                    return answer
                waiter.wait(left_s)
