"""The checks of `busproof.checks` once more, in Spark: the same verdicts and the same witnesses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict
from busspark.calls import Frames
from busspark.checks import (
    claim_exclusive,
    cursor_monotonic,
    dead_letters_exact,
    export_exact,
    lease_exclusive,
    log_delivery,
    log_durable,
    log_order,
    receive_order,
    send_durable,
    topic_delivery,
    topic_durable,
    topic_order,
)
from busspark.checks.about import about
from busspark.comms_streams import CommsStreams
from busspark.topics_streams import TopicsStreams

__all__ = ["CHECKS", "run_checks"]

CHECKS: dict[str, dict[str, Callable[[Any, Completeness], Verdict]]] = {
    "worker": {
        "log_order": log_order.check,
        "log_durable": log_durable.check,
        "log_delivery": log_delivery.check,
        "cursor_monotonic": cursor_monotonic.check,
        "lease_exclusive": lease_exclusive.check,
        "export_exact": export_exact.check,
    },
    "comms": {
        "send_durable": send_durable.check,
        "receive_order": receive_order.check,
        "claim_exclusive": claim_exclusive.check,
        "dead_letters_exact": dead_letters_exact.check,
    },
    "topics": {
        "topic_order": topic_order.check,
        "topic_durable": topic_durable.check,
        "topic_delivery": topic_delivery.check,
    },
}


def run_checks(streams: Frames, say: Callable[[str], None] = lambda _: None) -> list[Verdict]:
    """All checks of its system on one history; `say` hears the name of each before it starts."""
    streams = streams.cache()
    known = about(streams)
    verdicts = []
    for name, check in CHECKS[_system(streams)].items():
        say(name)
        verdicts.append(check(streams, known))
    return verdicts


def _system(streams: Frames) -> str:
    match streams:
        case CommsStreams():
            return "comms"
        case TopicsStreams():
            return "topics"
    return "worker"
