"""The `timeline` bus (seed 003): a store and its nouns, side by side.

One method for each method of the adapter protocol, with its parameters as keywords; its reply is typed beside its noun.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Unpack

from refbus.kernel.face import Face, delegated
from refbus.kernel.face import delegate as lend
from refbus.timeline.call import TIMEOUT_MS, Calls
from refbus.timeline.cursor import Cursor
from refbus.timeline.fork import Forks
from refbus.timeline.lineage import Lineage
from refbus.timeline.log import Log
from refbus.timeline.message import PAYLOAD_BYTES_MAX
from refbus.timeline.route import Route
from refbus.timeline.store import Options, Store
from refbus.timeline.token import NAME_BYTES_MAX, SEQUENCE_MAX
from refbus.timeline.verify import Verify


class TimelineBus(Face):
    """An open store folder: its own SQLite file, or the JetStream that its config.toml names. Threads may share it."""

    SYSTEM = "timeline"
    OPTIONS = ("backend", "nats_url", "nats_creds", "ack_wait_ms", "synchronous")
    NOUNS = ("log", "cursor", "route", "retry", "export", "fork")
    # JetStream only where its client is installed.
    _NATS = ("nats",) if find_spec("nats") else ()
    FEATURES = ("calls", "nak", "groups", "replay", "verify", "dump", "synchronous", "sqlite", *_NATS)
    DURABILITY = "process-crash"
    LIMITS = {  # noqa: RUF012
        "payload_bytes_max": PAYLOAD_BYTES_MAX,
        "name_bytes_max": NAME_BYTES_MAX,
        "sequence_max": SEQUENCE_MAX,
        "call_timeout_ms": TIMEOUT_MS,
    }

    def __init__(self, store: Path | str, **options: Unpack[Options]) -> None:
        """Open a store. Errors: INVALID_ARGUMENT, SCHEMA_MISMATCH, IO_ERROR, UNREACHABLE."""
        self.store = Store(store, **options)
        self.lineage = Lineage(self.store)
        self.routes = Route()
        self.logs = Log(self.store, self.lineage)
        self.cursors = Cursor(self.store)
        self.calls = Calls(self.store, self.lineage, self.logs)
        self.forks = Forks(self.store, self.lineage)
        self.verifies = Verify(self.store)

    subject_of = lend("routes", Route.subject_of)
    key_of = lend("routes", Route.key_of)
    reply_key = lend("routes", Route.reply_key)
    filter_subject = lend("routes", Route.filter_subject)
    matches = lend("routes", Route.matches)
    send = lend("logs", Log.send)
    reply = lend("logs", Log.reply)
    log = lend("logs", Log.log)
    state = lend("logs", Log.state)
    verify = lend("verifies", Verify.verify)
    fetch = lend("cursors", Cursor.fetch)
    ack = lend("cursors", Cursor.ack)
    nak = lend("cursors", Cursor.nak)
    run_agent = lend("calls", Calls.run_agent)
    call_service = lend("calls", Calls.call_service)
    delegate = lend("calls", Calls.delegate)
    replay = lend("logs", Log.replay)
    fork = lend("forks", Forks.fork)
    timelines = lend("forks", Forks.timelines)
    dump = lend("verifies", Verify.dump)
    METHODS = delegated(vars())

    def close(self) -> None:
        """Leave the queue: close all connections and watches."""
        self.store.close()
