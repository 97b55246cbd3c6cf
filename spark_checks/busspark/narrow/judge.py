"""The verdicts of the checks on one run of any size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from msgspec.structs import replace as replace_fact

from busproof.oracle.checks import Check, Facts, Verdict, clocks, integrity, untold
from busproof.oracle.checks.facts import About
from busspark.counted import of_all
from busspark.known import KNOWN, is_screened
from busspark.narrow.database import Database, opened
from busspark.narrow.parts import parts

EARLY = """SELECT * FROM appended WHERE (lane, message) IN (
    SELECT lane, message FROM appended WHERE shown IS NOT NULL)"""


def can_judge(checks: Iterable[Check]) -> bool:
    """Is it known how to show each of them less than everything?"""
    return all(check in KNOWN for check in checks)


def judge(folder: Path, run: str, about: About, checks: Mapping[str, Check]) -> list[Verdict]:
    """Integrity and these checks; the folder is that of the run's system."""
    with opened(folder, run, about) as db:
        if damage := clocks.disagree(_facts(db, {"appended": EARLY})):
            return [integrity.check(Facts(about=[replace_fact(about, damage=damage)])), *untold(checks)]
        malformed = _facts(db, {"malformed": "FROM malformed"})
        return [integrity.check(malformed), *(look(db, check) for check in checks.values())]


def look(db: Database, check: Check) -> Verdict:
    """One check."""
    known = KNOWN[check]
    if not is_screened(check, db.about):
        verdict = check(_facts(db, {name: f"FROM {name}" for name in known.looks_at}))
    elif isinstance(known.shown, dict):
        verdict = _in_parts(db, check, known.shown)
    else:
        verdict = check(_facts(db, known.shown(db)))
    return of_all(verdict, check, db.about, has_export=db.count("exports") > 0)


def _in_parts(db: Database, check: Check, by: Mapping[str, str]) -> Verdict:
    by_part = [check(facts) for facts in parts(db, by)]
    witnesses = sorted({witness for judgement in by_part for witness in judgement.witnesses})
    verdict = next((judgement for judgement in by_part if judgement.verdict == "invalid"), by_part[0])
    return replace(verdict, witnesses=witnesses)


def _facts(db: Database, queries: Mapping[str, str]) -> Facts:
    facts = Facts(about=[db.about])
    for stream, query in queries.items():
        getattr(facts, stream).extend(db.facts(stream, query))
    return facts
