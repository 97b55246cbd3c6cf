"""The base of every noun of the bus: a folder, a clock, and the queue that holds messages and record."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from refbus.kernel.clock import Clock
from refbus.kernel.files import existing_folder
from refbus.kernel.rules import limit as limits
from refbus.timeline import config
from refbus.timeline.queue import Queue
from refbus.timeline.sqlite import SqliteQueue

ACK_WAIT_MS = 30_000


class Options(TypedDict, total=False):
    """The options that a session may be opened with."""

    clock: Clock | None  # default: the wall clock
    synchronous: str  # NORMAL survives the death of a process, FULL a power cut as well; of the SQLite backend
    backend: str | None  # sqlite or nats; default: as config.toml in the folder says, else sqlite
    nats_url: str | None
    nats_creds: str | None  # a file of credentials
    ack_wait_ms: int  # a message that a worker has not acknowledged for so long comes again: 30 s


class Store:
    """An open store folder. Threads may share it."""

    def __init__(
        self,
        folder: Path | str,
        *,
        clock: Clock | None = None,
        synchronous: str = "NORMAL",
        backend: str | None = None,
        nats_url: str | None = None,
        nats_creds: str | None = None,
        ack_wait_ms: int = ACK_WAIT_MS,
    ) -> None:
        self.folder = existing_folder("store", folder)
        self.clock = clock or Clock()
        self.ack_wait_ms = limits.integer("ack_wait_ms", ack_wait_ms, 1, 24 * 60 * 60 * 1000)
        chosen = config.load(self.folder, backend=backend, nats_url=nats_url, nats_creds=nats_creds)
        self.backend = chosen.backend
        self.queue: Queue
        if chosen.backend == "nats":
            from refbus.timeline.jetstream import JetStreamQueue  # nats-py is an extra

            self.queue = JetStreamQueue(chosen, clock=self.clock, ack_wait_ms=ack_wait_ms)
        else:
            self.queue = SqliteQueue(self.folder, clock=self.clock, synchronous=synchronous, ack_wait_ms=ack_wait_ms)

    def close(self) -> None:
        """Leave the queue."""
        self.queue.close()
