"""The `worker` bus (seed 000): a store and its nouns, side by side.

One method for each method of the adapter protocol, with its parameters as keywords; `replies` has their reply types.
"""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from refbus.kernel.face import Face, delegate, delegated
from refbus.kernel.rules import limit as limits
from refbus.worker.archive import Archive
from refbus.worker.blob import Blobs
from refbus.worker.cursor import Cursors
from refbus.worker.export import Export
from refbus.worker.lease import Claims
from refbus.worker.log import Log
from refbus.worker.presence import Presence
from refbus.worker.reader import Reader
from refbus.worker.retry import Redelivery
from refbus.worker.route import Routes
from refbus.worker.search import Search
from refbus.worker.signing import Signatures
from refbus.worker.states import States
from refbus.worker.store import Options, Store


class WorkerBus(Face):
    """An open store folder. One object may serve many threads: each has its own connection.

    - `clock`: the clock that tells the time; default: the wall clock
    - `synchronous`: NORMAL survives the death of a process, FULL a power cut as well (W12)
    - `lease_ms`: how long a claim lives
    - `unread_max`: publish is refused where its recipient has so many unread (W21)
    - `deliveries_max`: a message that was delivered so often without an ack is a dead letter (W11)
    - `signing_key`: hex; sign messages, and mark those that are not signed with it (W22). 32 random bytes or more
    - `verifying_keys`: a message signed with one of these is good, too, while keys are rotated

    Opening raises INVALID_ARGUMENT or SCHEMA_MISMATCH. Any method may also raise BUSY, DISK_FULL, IO_ERROR, CORRUPT or
    INTERNAL.
    """

    SYSTEM = "worker"
    OPTIONS = ("unread_max", "deliveries_max", "signing_key", "synchronous", "lease_ms")
    NOUNS = ("log", "cursor", "route", "lease", "presence", "blob", "retry", "limit", "search", "export")
    FEATURES = (
        "seq",
        "publish_many",
        "process_loop",
        "poll_intervals",
        "wait",
        "fencing",
        "dead_letter",
        "backpressure",
        "signing",
        "archive",
        "status",
        "states",
        "migration",
        "dump",
        "synchronous",
        "sqlite",
    )
    DURABILITY = "process-crash"  # the promise of the default, synchronous = NORMAL (W12)
    LIMITS = {  # noqa: RUF012
        "inline_payload_bytes_max": limits.INLINE_PAYLOAD_BYTES_MAX,
        "payload_bytes_max": limits.PAYLOAD_BYTES_MAX,
        "name_bytes_max": limits.NAME_BYTES_MAX,
        "text_chars_max": limits.TEXT_CHARS_MAX,
    }

    def __init__(self, store: Path | str, **options: Unpack[Options]) -> None:
        self.store = Store(store, **options)
        self.db, self.folder = self.store.db, self.store.folder
        self.signatures = Signatures(self.store)
        self.blobs = Blobs(self.store)
        self.reader = Reader(self.blobs, self.signatures)
        self.routes = Routes(self.store)
        self.log = Log(self.store, self.blobs, self.signatures, self.routes)
        self.cursors = Cursors(self.store, self.routes, self.reader)
        self.redelivery = Redelivery(self.store, self.cursors, self.reader)
        self.claims = Claims(self.store)
        self.presence = Presence(self.store, self.signatures)
        self.states = States(self.store, self.log)
        self.exports = Export(self.store)
        self.searches = Search(self.store, self.blobs, self.reader)
        self.archives = Archive(self.store)

    publish = delegate("log", Log.publish)
    publish_many = delegate("log", Log.publish_many)
    poll = delegate("cursors", Cursors.poll)
    ack = delegate("cursors", Cursors.ack)
    process_loop = delegate("redelivery", Redelivery.process_loop)
    poll_intervals = delegate("redelivery", Redelivery.poll_intervals)
    try_claim_task = delegate("claims", Claims.try_claim_task)
    renew_claim = delegate("claims", Claims.renew_claim)
    release_claim = delegate("claims", Claims.release_claim)
    heartbeat = delegate("presence", Presence.heartbeat)
    liveness = delegate("presence", Presence.liveness)
    export_to_jsonl = delegate("exports", Export.export_to_jsonl)
    save_blob = delegate("blobs", Blobs.save_blob)
    load_blob = delegate("blobs", Blobs.load_blob)
    search = delegate("searches", Search.search)
    archive = delegate("archives", Archive.archive)
    status = delegate("presence", Presence.status)
    dead_letters = delegate("redelivery", Redelivery.dead_letters)
    redrive = delegate("redelivery", Redelivery.redrive)
    worker_state = delegate("states", States.worker_state)
    transition = delegate("states", States.transition)
    dump = delegate("store", Store.dump)
    METHODS = delegated(vars())
    process = delegate("redelivery", Redelivery.process)  # for Python alone: a handler is no JSON

    def close(self) -> None:
        """Close all connections and watches."""
        self.store.close()
