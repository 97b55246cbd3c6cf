"""What a check says of all when it was shown only what is odd: it looked at more than it saw."""

from __future__ import annotations

import json
from dataclasses import replace

from busproof.checks import Check, Verdict, acks, dead_letters, durable, export, lease, order, polls, receives, syncs
from busproof.checks.facts import About
from busproof.checks.verdict import NOTHING

# What each counts, of the counts of streams.
COUNTS: dict[Check, str] = {
    order.check: "acknowledged",
    order.check_dense: "acknowledged",
    durable.check: "appended",
    polls.check: "reads",
    syncs.check: "reads",
    receives.check: "reads",
    acks.check: "acked",
    lease.check: "holds",
    lease.check_deliveries: "claims",
    export.check: "exported",
    dead_letters.check: "failed",
}


def of_all(said: Verdict, check: Check, about: About, *, has_export: bool) -> Verdict:
    """The same verdict with its true count; nothing odd is valid, unless something keeps the check from saying so."""
    counted = json.loads(about.counts).get(COUNTS[check], 0) + (check is export.check and has_export)
    if counted and said.reason == NOTHING:
        return Verdict(said.check, "valid", [], counted)
    return replace(said, counted=counted)
