"""Checks: pure functions from a history to a verdict with witnesses, one property a file.

Each stands once here and once in Spark (`busspark`), and on the same history both give the same verdicts and the same
witnesses. The bus tells a seq, so nothing is searched: every check sorts, or keeps a running maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from busproof.checks import (
    cursor_monotonic,
    export_exact,
    lease_exclusive,
    log_delivery,
    log_durable,
    log_order,
)
from busproof.checks.facts import Facts, extract
from busproof.checks.verdict import Judgement, Verdict, Witness
from busproof.history import Event

__all__ = ["CHECKS", "Facts", "Judgement", "Verdict", "Witness", "overall", "run_checks"]

CHECKS: dict[str, Callable[[Facts], Verdict]] = {
    "log_order": log_order.check,
    "log_durable": log_durable.check,
    "log_delivery": log_delivery.check,
    "cursor_monotonic": cursor_monotonic.check,
    "lease_exclusive": lease_exclusive.check,
    "export_exact": export_exact.check,
}


def run_checks(events: Iterable[Event]) -> list[Verdict]:
    """All checks on one history."""
    facts = extract(events)
    return [check(facts) for check in CHECKS.values()]


def overall(verdicts: Iterable[Verdict]) -> Judgement:
    """Invalid if any is; valid if some are and none is worse for a reason other than having nothing to look at."""
    verdicts = list(verdicts)
    if any(verdict.verdict == "invalid" for verdict in verdicts):
        return "invalid"
    looked = [verdict for verdict in verdicts if verdict.counted]
    if not looked or any(verdict.verdict == "unknown" for verdict in looked):
        return "unknown"
    return "valid"
