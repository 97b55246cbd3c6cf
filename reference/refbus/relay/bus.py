"""The `relay` bus (seed 002): an orchestrator over a folder, a store and its nouns, side by side.

Agents only write and read files; all that an orchestrator does is done by passes over the folder (2.2). `scan` makes
one. Between passes nothing happens: for a service that runs by itself, call `service.run` (refbus relay run).
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from refbus.kernel.clock import Clock
from refbus.kernel.face import Face, delegate, delegated
from refbus.relay import config
from refbus.relay.archive import Archive
from refbus.relay.audit import Audit
from refbus.relay.blob import Attachments
from refbus.relay.deliver import Delivery
from refbus.relay.export import Export
from refbus.relay.limit import Rate
from refbus.relay.metrics import Metrics
from refbus.relay.passes import Passes
from refbus.relay.presence import Presence
from refbus.relay.process import Processing
from refbus.relay.processes import Processes
from refbus.relay.recovery import Recovery
from refbus.relay.requests import Requests
from refbus.relay.route import Route
from refbus.relay.scan import Scanner
from refbus.relay.spawn import Spawns
from refbus.relay.store import Store

# A program that sets up no log gets none on its standard error.
logging.getLogger("refbus.relay").addHandler(logging.NullHandler())


class RelayBus(Face):
    """An open folder, held against other orchestrators. Not for threads."""

    SYSTEM = "relay"
    OPTIONS = ("synchronous", *config.OPTIONS)
    NOUNS = ("log", "cursor", "lease", "presence", "blob", "route", "retry", "limit", "export")
    FEATURES = ("scan", "audit", "dump", "synchronous", "backup", "metrics", "sqlite", "spawn")
    DURABILITY = "process-crash"
    LIMITS = {"message_bytes_max": config.Config.message_bytes_max}  # noqa: RUF012

    def __init__(
        self, root: Path | str, *, clock: Clock | None = None, synchronous: str = "NORMAL", **options: Any
    ) -> None:
        """Open a folder and finish what a dead orchestrator had begun. Options are those of config.json, and win.

        Errors: INVALID_ARGUMENT, LOCKED, SCHEMA_MISMATCH, IO_ERROR.
        """
        self.store = Store(root, clock=clock, synchronous=synchronous, **options)
        self.audits = Audit(self.store)
        self.agents = Presence(self.store, self.audits)
        self.processes = Processes()
        self.spawns = Spawns(self.store, self.agents, self.processes)
        self.archive = Archive(self.store)
        self.delivery = Delivery(self.store, self.agents)
        self.scanner = Scanner(self.store, self.audits, self.agents, Rate(self.store, self.audits))
        self.processing = Processing(
            self.store,
            Route(self.store),
            Attachments(self.store),
            Requests(self.store, self.spawns),
            self.delivery,
            self.archive,
        )
        self.recovery = Recovery(self.store, self.delivery, self.spawns, self.archive)
        self.meters = Metrics(self.store, self.archive)
        self.exports = Export(self.store)
        self.passes = Passes(
            self.store,
            self.audits,
            self.agents,
            self.spawns,
            self.scanner,
            self.processing,
            self.recovery,
            self.archive,
            self.meters,
        )
        try:
            self.passes.recover()
        except BaseException:
            self.store.close()
            raise

    scan = delegate("passes", Passes.scan)
    status = delegate("exports", Export.status)
    audit = delegate("audits", Audit.audit)
    dump = delegate("exports", Export.dump)
    backup = delegate("exports", Export.backup)
    restore = delegate("passes", Passes.restore)
    metrics = delegate("meters", Metrics.metrics)
    METHODS = delegated(vars())

    def close(self) -> None:
        """End the processes that were spawned, close the ledger, let another orchestrator in."""
        try:
            self.spawns.end_all()
        finally:
            self.store.close()
