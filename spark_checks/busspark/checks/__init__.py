"""The checks of `busproof.checks` once more, in Spark: the same verdicts and the same witnesses."""

from __future__ import annotations

from collections.abc import Callable

from busproof.checks.verdict import Verdict
from busspark.checks import (
    cursor_monotonic,
    export_exact,
    lease_exclusive,
    log_delivery,
    log_durable,
    log_order,
)
from busspark.checks.about import About, about
from busspark.streams import Streams

__all__ = ["CHECKS", "run_checks"]

CHECKS: dict[str, Callable[[Streams, About], Verdict]] = {
    "log_order": log_order.check,
    "log_durable": log_durable.check,
    "log_delivery": log_delivery.check,
    "cursor_monotonic": cursor_monotonic.check,
    "lease_exclusive": lease_exclusive.check,
    "export_exact": export_exact.check,
}


def run_checks(streams: Streams, say: Callable[[str], None] = lambda _: None) -> list[Verdict]:
    """All checks on one history; `say` hears the name of each before it starts."""
    streams = streams.cache()
    known = about(streams)
    verdicts = []
    for name, check in CHECKS.items():
        say(name)
        verdicts.append(check(streams, known))
    return verdicts
