"""What every noun of the bus stands on: a folder, its database, a clock, and the options of this session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from refbus.kernel.clock import Clock
from refbus.kernel.db import Database
from refbus.kernel.errors import BusError, InvalidArgument
from refbus.kernel.files import existing_folder, make_folder
from refbus.kernel.rules import lease
from refbus.kernel.rules import limit as limits
from refbus.kernel.wake import Waiters
from refbus.worker.migrate import bring_up_to_date

DB_NAME = "bus.db"
JSONL_NAME = "bus.jsonl"


class Store:
    """An open store folder (the seed's `.worker-state/`). Threads may share it."""

    def __init__(
        self,
        store: Path | str,
        *,
        clock: Clock | None = None,
        synchronous: str = "NORMAL",
        lease_ms: int = lease.LEASE_MS,
        unread_max: int | None = None,
        deliveries_max: int | None = None,
        signing_key: str | None = None,
    ) -> None:
        if synchronous not in ("NORMAL", "FULL"):
            raise InvalidArgument(f"synchronous must be NORMAL or FULL, not {synchronous!a:.40}")
        self.clock = clock or Clock()
        self.lease_ms = limits.integer("lease_ms", lease_ms, 1, limits.NOW_MS_MAX)
        self.unread_max = None if unread_max is None else limits.integer("unread_max", unread_max, 1)
        self.deliveries_max = None if deliveries_max is None else limits.integer("deliveries_max", deliveries_max, 1)
        self._signing_key = _key(signing_key)
        self.folder = existing_folder("store", store)
        self.blobs, self.workers = self.folder / "blobs", self.folder / "workers"
        make_folder(self.blobs)
        make_folder(self.workers)
        self.db = Database(self.folder / DB_NAME, synchronous=synchronous)
        self.waiters = Waiters(self.folder, f"{DB_NAME}-wal", self.db.version)
        try:
            bring_up_to_date(self.db)
        except BusError:
            self.db.close()
            raise

    def close(self) -> None:
        """Close all connections and watches."""
        self.waiters.close()
        self.db.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _now_ms(self) -> int:
        return self.clock.now_ms()


def _key(signing_key: str | None) -> bytes | None:
    if signing_key is None:
        return None
    if not isinstance(signing_key, str) or not re.fullmatch("(?:[0-9a-fA-F]{2})+", signing_key):
        raise InvalidArgument("signing_key must be hex digits, two for each byte")
    return bytes.fromhex(signing_key)
