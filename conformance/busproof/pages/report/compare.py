"""`busproof compare OLD… NEW`: the rows that a bus has newly broken or newly held, and those that go back and forth."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from busproof.contract.catalogue import catalogue
from busproof.pages.report.causes import first_step
from busproof.pages.report.lines import Report, ReportError, worst_by_row
from busproof.words import one_line

_HELD = ("pass", "warn")
_BROKEN = ("fail",)
_OPEN = ("could-not-run", "inconclusive")


def compare(reports: list[Report]) -> tuple[list[str], int]:
    """What is told, and the exit code: 1 where the newest breaks what an older one held, else 0.

    Raises ReportError if they are of several systems.
    """
    if len(reports) < 2:
        raise ReportError("a comparison takes two reports or more, the oldest first")
    systems = {report.header["system"] for report in reports}
    if len(systems) > 1:
        raise ReportError(f"reports of several systems cannot be compared: {', '.join(sorted(systems))}")
    series = [worst_by_row(report.rows) for report in reports]
    names = sorted({name for outcomes in series for name in outcomes})
    kinds = {name: _kind([outcomes.get(name, "not played") for outcomes in series]) for name in names}
    return list(_told(reports, kinds)), int("newly broken" in kinds.values())


def _kind(outcomes: list[str]) -> str:
    """What became of one row. A row that changed and changed back is nobody's merit and nobody's fault."""
    decided = [outcome in _BROKEN for outcome in outcomes if outcome in (*_HELD, *_BROKEN)]
    turns = sum(before != after for before, after in pairwise(decided))
    if turns > 1:
        return "flaky"
    if turns == 1 and outcomes[-1] in (*_HELD, *_BROKEN):
        return "newly broken" if decided[-1] else "newly held"
    if outcomes[-1] in _OPEN and decided:
        return "not decided any more"
    return "still broken" if outcomes[-1] in _BROKEN else ""


def _told(reports: list[Report], kinds: dict[str, str]) -> Iterator[str]:
    old, new = reports[0], reports[-1]
    for name, report in (("old", old), ("new", new)):
        hello = report.header["hello"]
        yield one_line(f"{name}: {report.verdict}, {hello['name']} {hello['version']}, {report.header['started']}")
    rows = catalogue(new.header["system"])
    for kind in ("newly broken", "flaky", "not decided any more", "still broken", "newly held"):
        of_kind = [name for name, its_kind in kinds.items() if its_kind == kind]
        if of_kind:
            yield f"{kind}: {len(of_kind)}"
        for name in of_kind:
            yield f"  {name:18} {rows[name].text if name in rows else 'a row that this version does not have'}"
            failed = (row for row in new.rows if row["requirement"] == name and row["outcome"] in _BROKEN)
            if kind == "newly broken":
                yield from (f"  {'':18} first step: {first_step(row)}" for row in [next(failed)])
    if not any(kinds.values()):
        yield "nothing has changed"
