"""The traceability page: sentence → row → check → the result of a real run."""

from __future__ import annotations

from busproof.contract.catalogue import catalogue
from busproof.pages.report.lines import Report
from busproof.run.result import WORST_FIRST


def page(report: Report) -> str:
    """Markdown, one table per noun."""
    system, hello = report.header["system"], report.header["hello"]
    outcome: dict[str, str] = {}
    for result in report.rows:
        before = outcome.get(result["requirement"], "not-applicable")
        outcome[result["requirement"]] = min(before, result["outcome"], key=WORST_FIRST.index)
    rows = list(catalogue(system).values())
    checked = sum(row.check is not None for row in rows)
    lines = [
        f"<!-- Generated: busproof traceability busproof-out/report.jsonl --out {system}.md -->",
        f"# Traceability of `{system}`",
        "",
        f"{len(rows)} rows: {checked} checked, {len(rows) - checked} excluded with a reason.",
        f"The last column: `busproof check {system}` on {hello['name']} {hello['version']}: {report.verdict}.",
        f"Rows of `chaos.*` are decided by `busproof chaos {system}`.",
    ]
    noun = ""
    for row in rows:
        if row.noun != noun:
            noun = row.noun
            lines += [
                "",
                f"## {noun}",
                "",
                "| id | level | sentence | source | check | run |",
                "|---|---|---|---|---|---|",
            ]
        check = f"`{row.check}`" if row.check else f"excluded: {row.excluded}"
        text = row.text.replace("|", "\\|")
        lines.append(f"| {row.id} | {row.level} | {text} | {row.source} | {check} | {outcome.get(row.id, '')} |")
    return "\n".join(lines) + "\n"
