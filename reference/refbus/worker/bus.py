"""The `worker` bus (seed 000): all nouns on one store.

One method for each method of the adapter protocol, with its parameters as keywords and its reply as a dict.
"""

from __future__ import annotations

from refbus.kernel.rules import limit as limits
from refbus.worker.archive import Archive
from refbus.worker.dump import Dump
from refbus.worker.export import Export
from refbus.worker.lease import Claims
from refbus.worker.presence import Presence
from refbus.worker.retry import Redelivery
from refbus.worker.search import Search
from refbus.worker.states import States
from refbus.worker.status import Status


class WorkerBus(Redelivery, Search, States, Claims, Presence, Export, Archive, Status, Dump):
    """An open store. One object may serve many threads: each has its own connection."""

    SYSTEM = "worker"
    METHODS = (
        "publish",
        "publish_many",
        "poll",
        "ack",
        "process_loop",
        "poll_intervals",
        "try_claim_task",
        "renew_claim",
        "release_claim",
        "heartbeat",
        "liveness",
        "export_to_jsonl",
        "save_blob",
        "load_blob",
        "search",
        "archive",
        "status",
        "dead_letters",
        "redrive",
        "worker_state",
        "transition",
        "dump",
    )
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
        "sqlite",
    )
    DURABILITY = "process-crash"  # what the default, synchronous = NORMAL, promises (W12)
    LIMITS = {  # noqa: RUF012
        "inline_payload_bytes_max": limits.INLINE_PAYLOAD_BYTES_MAX,
        "payload_bytes_max": limits.PAYLOAD_BYTES_MAX,
        "name_bytes_max": limits.NAME_BYTES_MAX,
        "text_chars_max": limits.TEXT_CHARS_MAX,
    }
