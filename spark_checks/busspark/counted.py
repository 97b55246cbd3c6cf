"""A check's verdict on all rows when it was shown only the odd ones: it looked at more than it saw."""

from __future__ import annotations

import json
from dataclasses import replace

from busproof.oracle.checks import Check, Verdict, export
from busproof.oracle.checks.facts import About
from busproof.oracle.checks.verdict import NOTHING
from busspark.known import KNOWN


def of_all(verdict: Verdict, check: Check, about: About, *, has_export: bool) -> Verdict:
    """The same verdict with its true count; nothing odd is valid, unless something keeps the check from saying so."""
    counted = json.loads(about.counts).get(KNOWN[check].counts, 0) + (check is export.check and has_export)
    if counted and verdict.reason == NOTHING:
        return Verdict(verdict.check, "valid", [], counted)
    return replace(verdict, counted=counted)
