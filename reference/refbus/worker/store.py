"""What every noun of the bus stands on: a folder, its database, a clock, and the options of this session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypedDict

from refbus.kernel.clock import Clock
from refbus.kernel.errors import InvalidArgument
from refbus.kernel.files import existing_folder, make_folder
from refbus.kernel.rules import lease
from refbus.kernel.rules import limit as limits
from refbus.kernel.schema import Schema
from refbus.kernel.store import Store as Base

DB_NAME = "bus.db"
JSONL_NAME = "bus.jsonl"
# Version 0 precedes the seed's draft: some of its tables may be missing, or `meta` itself. Version 1 is the seed's.
SCHEMA = Schema.of_folder(Path(__file__).parent, version=1)


class Options(TypedDict, total=False):
    """What a session may be opened with; the bus says what each means."""

    clock: Clock | None
    synchronous: str
    lease_ms: int
    unread_max: int | None
    deliveries_max: int | None
    signing_key: str | None


class Store(Base):
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
        self.folder = existing_folder("store", store)
        super().__init__(self.folder / DB_NAME, clock=clock, synchronous=synchronous)
        self.lease_ms = limits.integer("lease_ms", lease_ms, 1, limits.NOW_MS_MAX)
        self.unread_max = None if unread_max is None else limits.integer("unread_max", unread_max, 1)
        self.deliveries_max = None if deliveries_max is None else limits.integer("deliveries_max", deliveries_max, 1)
        self.signing_key = _key(signing_key)
        self.blobs, self.workers = self.folder / "blobs", self.folder / "workers"
        make_folder(self.blobs)
        make_folder(self.workers)
        self.open(SCHEMA)


def _key(signing_key: str | None) -> bytes | None:
    if signing_key is None:
        return None
    if not isinstance(signing_key, str) or not re.fullmatch("(?:[0-9a-fA-F]{2})+", signing_key):
        raise InvalidArgument("signing_key must be hex digits, two for each byte")
    return bytes.fromhex(signing_key)
