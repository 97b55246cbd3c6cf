"""Checks: pure functions from a history's facts to a verdict with witnesses, one property per file.

Each stands once here and once in Spark (`busspark`), and on the same history both give the same verdicts and the same
witnesses. The bus tells a seq, so nothing is searched: every check sorts, or keeps a running maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import structs

from busproof.contract.history import Broken, Event
from busproof.oracle.checks import clocks, integrity
from busproof.oracle.checks.extract import Source, extract
from busproof.oracle.checks.facts import Facts
from busproof.oracle.checks.verdict import Judgement, Verdict, Witness

__all__ = [
    "Check",
    "Facts",
    "Judgement",
    "Source",
    "Verdict",
    "Witness",
    "extract",
    "integrity",
    "judge",
    "judge_facts",
    "overall",
    "untold",
]

Check = Callable[[Facts], Verdict]


def judge(lines: Iterable[Event | Broken], source: Source, checks: Mapping[str, Check]) -> list[Verdict]:
    """Integrity first, then these checks, on one history. A damaged history gets no other verdict."""
    watched = integrity.Integrity()
    facts = extract(watched.watch(lines), source)
    facts.about = [structs.replace(facts.known, damage=watched.damage)]
    return judge_facts(facts, checks)


def judge_facts(facts: Facts, checks: Mapping[str, Check]) -> list[Verdict]:
    """The same, on facts."""
    if not facts.known.damage and (damage := clocks.disagree(facts)):
        facts = structs.replace(facts, about=[structs.replace(facts.known, damage=damage)])
    whole = integrity.check(facts)
    return [whole, *(untold(checks) if facts.known.damage else [check(facts) for check in checks.values()])]


def untold(checks: Iterable[str]) -> Iterator[Verdict]:
    """The verdicts of the checks on a damaged history."""
    for name in checks:
        yield Verdict(name, "unknown", reason="the history is damaged")


def overall(verdicts: Iterable[Verdict]) -> Judgement:
    """Invalid if any is; valid if some are and none is worse for a reason other than an empty input."""
    verdicts = list(verdicts)
    if any(verdict.verdict == "invalid" for verdict in verdicts):
        return "invalid"
    # A whole file in which nothing happened is no evidence of anything.
    looked = [v for v in verdicts if v.counted and (v.check, v.verdict) != ("integrity", "valid")]
    if not looked or any(verdict.verdict == "unknown" for verdict in looked):
        return "unknown"
    return "valid"
