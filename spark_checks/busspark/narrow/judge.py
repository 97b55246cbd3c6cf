"""What the checks say of one run of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from busproof.checks import (
    Check,
    Facts,
    Verdict,
    acks,
    dead_letters,
    durable,
    export,
    integrity,
    lease,
    order,
    polls,
    receives,
    syncs,
)
from busproof.checks.facts import About
from busspark.counted import of_all
from busspark.narrow import acks as narrow_acks
from busspark.narrow import durable as narrow_durable
from busspark.narrow import export as narrow_export
from busspark.narrow import order as narrow_order
from busspark.narrow import polls as narrow_polls
from busspark.narrow import receives as narrow_receives
from busspark.narrow.database import Database, opened
from busspark.narrow.parts import parts

NARROWED: dict[Check, Callable[[Database], dict[str, str]]] = {
    order.check: narrow_order.narrowed,
    order.check_dense: narrow_order.narrowed_dense,
    durable.check: narrow_durable.narrowed,
    polls.check: narrow_polls.narrowed,
    receives.check: narrow_receives.narrowed,
    acks.check: narrow_acks.narrowed,
    export.check: narrow_export.narrowed,
}
# Of these every key, or lane, is looked at: stream → the column that holds it.
PARTED: dict[Check, dict[str, str]] = {
    lease.check: {"holds": "key"},
    lease.check_deliveries: {"holds": "key", "appended": "id", "redriven": "key"},
    dead_letters.check: {"failed": "key", "holds": "key", "stored": "id", "redriven": "key"},
    syncs.check: dict.fromkeys(("reads", "delivered", "jumps", "stored", "appended"), "lane"),
}


def can_judge(checks: Iterable[Check]) -> bool:
    """Does it know how to show all of them less than everything?"""
    return all(check in NARROWED or check in PARTED for check in checks)


def judge(folder: Path, run: str, about: About, checks: Mapping[str, Check]) -> list[Verdict]:
    """Integrity and these checks; the folder is the run's system's."""
    with opened(folder, run, about) as db:
        malformed = _facts(db, {"malformed": "FROM malformed"})
        return [integrity.check(malformed), *(look(db, check) for check in checks.values())]


def look(db: Database, check: Check) -> Verdict:
    """One check."""
    said = _in_parts(db, check) if check in PARTED else check(_facts(db, NARROWED[check](db)))
    return of_all(said, check, db.about, has_export=db.count("exports") > 0)


def _in_parts(db: Database, check: Check) -> Verdict:
    said = [check(facts) for facts in parts(db, PARTED[check])]
    witnesses = sorted({witness for one in said for witness in one.witnesses})
    verdict = next((one for one in said if one.verdict == "invalid"), said[0])
    return replace(verdict, witnesses=witnesses)


def _facts(db: Database, queries: Mapping[str, str]) -> Facts:
    facts = Facts(about=[db.about])
    for stream, query in queries.items():
        getattr(facts, stream).extend(db.facts(stream, query))
    return facts
