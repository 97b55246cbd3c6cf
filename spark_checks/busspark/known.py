"""The knowledge of both engines about each check: a new check is a row here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from busproof.oracle.checks import (
    Check,
    acks,
    content,
    dead_letters,
    durable,
    export,
    lease,
    order,
    polls,
    receives,
    syncs,
)
from busproof.oracle.checks.facts import About
from busspark.narrow import acks as narrow_acks
from busspark.narrow import content as narrow_content
from busspark.narrow import durable as narrow_durable
from busspark.narrow import export as narrow_export
from busspark.narrow import order as narrow_order
from busspark.narrow import polls as narrow_polls
from busspark.narrow import receives as narrow_receives
from busspark.narrow.database import Database

# The suspicions of the screen: one bit per group of checks.
ORDER, DURABLE, READS, ACKS, LEASE, EXPORT, LETTERS, UNINVITED, CONTENT = (1 << n for n in range(9))
_OF_READS = ("reads", "delivered", "stored", "appended", "acked", "jumps")


class Known(NamedTuple):
    """One check."""

    counts: str  # its own count, among the counts of streams
    called_by: int  # the suspicions that call for it
    looks_at: tuple[str, ...]  # streams
    # The part of a large run that it is shown: the rows that can matter, by one query per stream; or all rows, part by
    # part, if it looks at each key, or lane, alone: stream → the column that holds that.
    shown: Callable[[Database], dict[str, str]] | dict[str, str]
    # The screen compares with the final state. In a run without one the check itself looks, at all rows.
    by_what_readers_saw: bool = False


KNOWN: dict[Check, Known] = {
    order.check: Known("acknowledged", ORDER, ("appended", "stored"), narrow_order.narrowed),
    order.check_dense: Known("acknowledged", ORDER, ("appended", "stored"), narrow_order.narrowed_dense),
    durable.check: Known(
        "appended",
        DURABLE | UNINVITED,
        ("appended", "stored", "reads", "delivered", "jumps"),
        narrow_durable.narrowed,
        by_what_readers_saw=True,
    ),
    content.check: Known("shown", CONTENT, ("contents",), narrow_content.narrowed),
    polls.check: Known("reads", READS, _OF_READS, narrow_polls.narrowed, by_what_readers_saw=True),
    syncs.check: Known(
        "reads", READS, _OF_READS, dict.fromkeys(("reads", "delivered", "jumps", "stored", "appended"), "lane")
    ),
    receives.check: Known("reads", READS, ("reads", "delivered", "appended", "stored"), narrow_receives.narrowed),
    acks.check: Known("acked", ACKS, (*_OF_READS, "positions"), narrow_acks.narrowed, by_what_readers_saw=True),
    lease.check: Known("holds", LEASE, ("holds",), {"holds": "key"}),
    lease.check_deliveries: Known(
        "claims",
        LEASE,
        ("holds", "appended", "redriven", "delivered"),
        {"holds": "key", "appended": "id", "redriven": "key", "delivered": "id"},
    ),
    export.check: Known("exported", EXPORT, ("exported", "exports", "reached", "stored"), narrow_export.narrowed),
    dead_letters.check: Known(
        "failed",
        LETTERS,
        ("failed", "holds", "stored", "redriven"),
        {"failed": "key", "holds": "key", "stored": "id", "redriven": "key"},
    ),
}


def is_screened(check: Check, about: About) -> bool:
    """Does the screen find all that the check could find in this run?"""
    return check in KNOWN and not (about.dump_at is None and KNOWN[check].by_what_readers_saw)
