"""Checks: pure functions from a history to a verdict with witnesses, one property a file.

Each stands once here and once in Spark (`busspark`), and on the same history both give the same verdicts and the same
witnesses. The bus tells a seq, so nothing is searched: every check sorts, or keeps a running maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from busproof.checks import (
    claim_exclusive,
    comms_facts,
    cursor_monotonic,
    dead_letters_exact,
    export_exact,
    facts,
    lease_exclusive,
    log_delivery,
    log_durable,
    log_order,
    receive_order,
    send_durable,
    topic_delivery,
    topic_durable,
    topic_order,
    topics_facts,
)
from busproof.checks.verdict import Judgement, Verdict, Witness
from busproof.history import Event

__all__ = ["CHECKS", "EXTRACT", "Judgement", "Verdict", "Witness", "overall"]

# system → how its facts are taken from a history
EXTRACT: dict[str, Callable[[Iterable[Event]], Any]] = {
    "worker": facts.extract,
    "comms": comms_facts.extract,
    "topics": topics_facts.extract,
}

# system → name → a pure function of those facts
CHECKS: dict[str, dict[str, Callable[[Any], Verdict]]] = {
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


def overall(verdicts: Iterable[Verdict]) -> Judgement:
    """Invalid if any is; valid if some are and none is worse for a reason other than having nothing to look at."""
    verdicts = list(verdicts)
    if any(verdict.verdict == "invalid" for verdict in verdicts):
        return "invalid"
    looked = [verdict for verdict in verdicts if verdict.counted]
    if not looked or any(verdict.verdict == "unknown" for verdict in looked):
        return "unknown"
    return "valid"
