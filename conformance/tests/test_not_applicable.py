"""A row counts as not applicable only if no fleet judged it, and says which bus lacks what it needs."""

from __future__ import annotations

import io
from contextlib import closing
from typing import Any

from busproof.bus.fleet import Fleet, reference
from busproof.pages.report import terminal
from busproof.pages.report.lines import Report
from busproof.run.runner import run_item


def verdict_of(*rows: tuple[str, str, str, str]) -> str:
    """The end of a report of these rows: requirement, outcome, fleet, why."""
    shape = {"check": "log.x", "events": [], "script": []}
    names = ("requirement", "outcome", "fleet", "why")
    results: list[dict[str, Any]] = [{**shape, **dict(zip(names, row, strict=True))} for row in rows]
    header = {"hello": {"name": "bus", "version": "1"}, "system": "worker", "bus": "exec:x"}
    out = io.StringIO()
    terminal.render(Report(header, results, {"counts": {}, "known_failed": [], "verdict": "valid"}), out, brief=True)
    return out.getvalue()


def test_a_row_that_the_bus_alone_was_judged_by_is_not_told_as_undeclared() -> None:
    """The kit's own participant has no blobs: the reference, which has, was said to declare none."""
    lacks = "the other bus of the mixed fleet does not declare blob"
    alone, mixed = ("worker.blob.01", "pass", "bus", ""), ("worker.blob.01", "not-applicable", "mixed", lacks)
    assert "Not applicable" not in verdict_of(alone, mixed)
    undeclared = ("worker.blob.01", "not-applicable", "bus", "the bus does not declare blob")
    assert "Not applicable, as undeclared: blob (1)\n" in verdict_of(undeclared, mixed)


def test_a_row_that_needs_two_things_is_told_under_each() -> None:
    """Not under every set of them that any row needs."""
    rows = [
        (f"worker.blob.0{number}", "not-applicable", "bus", f"the bus does not declare {lacks}")
        for number, lacks in enumerate(("blob", "blob, sqlite", "sqlite", "sqlite"), 1)
    ]
    assert "Not applicable, as undeclared: sqlite (3), blob (2)\n" in verdict_of(*rows)


def test_the_reason_names_the_member_of_the_fleet_that_lacks_a_noun() -> None:
    """The bus that is judged stands first; the kit's own participant has no blobs."""
    bus, bare = reference("worker"), "sqlite:"
    reasons = {}
    for specs in ([bare], [bare, bus], [bus, bare]):
        with closing(Fleet(specs, system="worker")) as fleet:
            reasons[specs[0], len(specs)] = {result.why for result in run_item(fleet, "blob.ref_as_path")}
    assert reasons[bare, 1] == reasons[bare, 2] == {"the bus does not declare blob"}
    assert reasons[bus, 2] == {"the other bus of the mixed fleet does not declare blob"}


def test_a_row_of_an_undeclared_noun_is_not_applicable_though_no_time_was_left_for_it() -> None:
    """It stood among the rows that could not run."""
    with closing(Fleet(["sqlite:"], system="worker")) as fleet:
        fleet.ends_at = 1.0
        outcomes = {result.requirement: result.outcome for result in run_item(fleet, "blob.ref_as_path")}
        outcomes |= {result.requirement: result.outcome for result in run_item(fleet, "log.fields")}
    assert outcomes["worker.blob.13"] == "not-applicable"
    assert outcomes["worker.log.13"] == "could-not-run"
