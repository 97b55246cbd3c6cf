"""Ways to wait wrongly, for the faults of more than one system."""

from __future__ import annotations

import time
from typing import Any

from plant import patch

from refbus.kernel.db import Block
from refbus.kernel.store import Store
from refbus.kernel.transaction import Transaction


def sleeping_on_what_came(store: Store, look: Any, wait_s: float) -> Any:
    """A `Store.wait_for` that looks, and only then asks for the version whose change will wake it."""
    deadline = time.monotonic() + wait_s
    news, seen = look(), store.version()
    while not news and time.monotonic() < deadline:
        time.sleep(0.005)
        if store.version() != seen:
            news, seen = look(), store.version()
    return news


def timed_before_the_lock() -> None:
    """A transaction has the time at which it began to wait for the lock."""

    def transaction(self: Store, begin: str = "BEGIN IMMEDIATE") -> Block[Transaction]:
        now_us = self.clock.now_us()
        return Block(self.db, begin, lambda connection: Transaction(connection, now_us))

    patch(Store, transaction=transaction)
