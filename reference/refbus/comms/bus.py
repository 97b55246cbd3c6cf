"""The `comms` bus (seed 001): a store and its nouns, side by side.

One method for each method of the adapter protocol, with its parameters as keywords; its reply is typed beside its noun.
"""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from refbus.comms.blob import Artifacts
from refbus.comms.breaker import Breakers
from refbus.comms.envelope import PRIORITY_MAX, PRIORITY_MIN
from refbus.comms.export import Audit
from refbus.comms.lease import Leases
from refbus.comms.limit import RateLimit
from refbus.comms.log import Log
from refbus.comms.presence import Presence
from refbus.comms.request import TIMEOUT_S, Requests
from refbus.comms.retry import Retries
from refbus.comms.route import Route
from refbus.comms.store import Options, Store
from refbus.comms.vote import Votes
from refbus.kernel.face import Face, delegate, delegated
from refbus.kernel.rules import limit as limits


class CommsBus(Face):
    """An open store. One object may serve many threads: each has its own connection."""

    SYSTEM = "comms"
    OPTIONS = ("synchronous", "visibility_ms", "retry_jitter", "rate_capacity", "rate_refill_per_s")
    NOUNS = ("log", "route", "lease", "retry", "presence", "blob", "limit", "export")
    FEATURES = (
        "validate",
        "wait",
        "idempotent_send",
        "delivery_count",
        "redrive",
        "request",
        "send_with_retry",
        "votes",
        "breaker",
        "audit",
        "dump",
        "synchronous",
        "sqlite",
    )
    DURABILITY = "process-crash"
    LIMITS = {  # noqa: RUF012
        "payload_bytes_max": limits.PAYLOAD_BYTES_MAX,
        "name_bytes_max": limits.NAME_BYTES_MAX,
        "text_chars_max": limits.TEXT_CHARS_MAX,
        "priority_min": PRIORITY_MIN,
        "priority_max": PRIORITY_MAX,
        "request_timeout_ms": round(TIMEOUT_S * 1000),
    }

    def __init__(self, project_root: Path | str, **options: Unpack[Options]) -> None:
        """Open a project's folder. Errors: INVALID_ARGUMENT, SCHEMA_MISMATCH, IO_ERROR."""
        self.store = Store(project_root, **options)
        self.audit = Audit(self.store)
        self.presence = Presence(self.store)
        self.rate = RateLimit(self.store)
        self.votes = Votes(self.store)
        self.log = Log(self.store, self.audit, self.presence, self.rate, self.votes)
        self.route = Route(self.store)
        self.leases = Leases(self.store, self.audit, self.presence)
        self.retries = Retries(self.store, self.audit, self.presence, self.log)
        self.requests = Requests(self.store, self.log, self.leases)
        self.artifacts = Artifacts(self.store, self.audit)
        self.breakers = Breakers()

    send_message = delegate("log", Log.send_message)
    validate_message = delegate("log", Log.validate_message)
    cleanup_expired_messages = delegate("log", Log.cleanup_expired_messages)
    receive_messages = delegate("route", Route.receive_messages)
    subscribe_to_channel = delegate("route", Route.subscribe_to_channel)
    unsubscribe_from_channel = delegate("route", Route.unsubscribe_from_channel)
    get_subscribed_channels = delegate("route", Route.get_subscribed_channels)
    claim_message = delegate("leases", Leases.claim_message)
    complete_message = delegate("leases", Leases.complete_message)
    dead_letters = delegate("retries", Retries.dead_letters)
    redrive = delegate("retries", Retries.redrive)
    send_with_retry = delegate("retries", Retries.send_with_retry)
    retry_delays = delegate("retries", Retries.retry_delays)
    request = delegate("requests", Requests.request)
    send_response = delegate("requests", Requests.send_response)
    tally = delegate("votes", Votes.tally)
    send_heartbeat = delegate("presence", Presence.send_heartbeat)
    get_agent_health = delegate("presence", Presence.get_agent_health)
    write_artifact = delegate("artifacts", Artifacts.write_artifact)
    read_artifact = delegate("artifacts", Artifacts.read_artifact)
    circuit_breaker = delegate("breakers", Breakers.circuit_breaker)
    export_audit_trail = delegate("audit", Audit.export_audit_trail)
    dump = delegate("store", Store.dump)
    METHODS = delegated(vars())

    def close(self) -> None:
        """Bring the audit trail up to date if that can be done now, then close all connections and watches."""
        try:
            self.audit.try_to_export()
        finally:
            self.store.close()
