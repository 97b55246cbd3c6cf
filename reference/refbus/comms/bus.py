"""The `comms` bus (seed 001): all nouns on one store.

One method for each method of the adapter protocol, with its parameters as keywords and its reply as a dict.
"""

from __future__ import annotations

from refbus.comms.dump import Dump
from refbus.comms.envelope import PRIORITY_MAX, PRIORITY_MIN
from refbus.comms.request import TIMEOUT_S
from refbus.kernel.rules import limit as limits


class CommsBus(Dump):
    """An open store. One object may serve many threads: each has its own connection."""

    SYSTEM = "comms"
    METHODS = (
        "send_message",
        "validate_message",
        "cleanup_expired_messages",
        "receive_messages",
        "subscribe_to_channel",
        "unsubscribe_from_channel",
        "get_subscribed_channels",
        "claim_message",
        "complete_message",
        "dead_letters",
        "redrive",
        "send_with_retry",
        "retry_delays",
        "request",
        "send_response",
        "tally",
        "send_heartbeat",
        "get_agent_health",
        "write_artifact",
        "read_artifact",
        "circuit_breaker",
        "export_audit_trail",
        "dump",
    )
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
