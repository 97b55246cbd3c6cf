"""The report: JSON Lines with a header, a line for each row, and a footer that can be recomputed.

The footer holds the counts, the verdict, the exit code, and the hash of all lines before it. `busproof verify-report`
computes them again from the lines, so that a report cannot be edited into another verdict unnoticed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from busproof import evidence
from busproof.run.result import WORST_FIRST, RowResult

EXIT_CODES = {"valid": 0, "invalid": 1, "unknown": 2}


class ReportError(ValueError):
    """The file is no report, or contradicts its own figures."""


@dataclass(frozen=True)
class Report:
    """A report in memory. `rows` holds one result a row and fleet."""

    header: dict[str, Any]
    rows: list[dict[str, Any]]
    footer: dict[str, Any]

    @property
    def verdict(self) -> str:
        """valid, invalid or unknown."""
        return str(self.footer["verdict"])


def summary(header: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts, verdict and exit code, from the header and the rows alone."""
    by_row = worst_by_row(rows)
    known = set(header.get("known", []))
    failed = {requirement for requirement, outcome in by_row.items() if outcome == "fail"}
    unsure = {r for r, outcome in by_row.items() if outcome in ("could-not-run", "inconclusive")}
    unsure -= {r for r in known if by_row.get(r) == "inconclusive"}  # of those that fail, one may block another
    if failed - known or header.get("known_faults"):
        verdict = "invalid"
    elif unsure or not {"pass", "warn"} & set(by_row.values()):
        verdict = "unknown"
    else:
        verdict = "valid"
    counts = dict(sorted(Counter(by_row.values()).items()))
    return {
        "counts": counts,
        "failed": sorted(failed),
        "known_failed": sorted(failed & known),
        "verdict": verdict,
        "exit_code": EXIT_CODES[verdict],
    }


def worst_by_row(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Each row's worst outcome: a row counts once, on whatever fleets it was played."""
    by_row: dict[str, str] = {}
    for row in rows:
        before = by_row.get(row["requirement"], WORST_FIRST[-1])
        by_row[row["requirement"]] = min(before, row["outcome"], key=WORST_FIRST.index)
    return by_row


def write(path: Path, header: dict[str, Any], results: list[RowResult]) -> Report:
    """Write the report and return it."""
    head = {"type": "header", **header}
    of_the_corpus = {"left_out", "calls", "not_played", "undecided"}
    rows = [{"type": "row", **result.model_dump(exclude=of_the_corpus)} for result in results]
    lines = [json.dumps(line, ensure_ascii=True) for line in [head, *rows]]
    foot = {"type": "footer", **summary(head, rows), "sha256": _hash(lines)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, json.dumps(foot)]) + "\n", encoding="utf-8")
    return Report(head, rows, foot)


def load(path: Path) -> Report:
    """Read a report and recompute its footer. Raises ReportError if they differ."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        parsed = [json.loads(line) for line in lines]
    except (OSError, ValueError, RecursionError) as error:
        raise ReportError(f"{path}: {error}") from error
    return _checked(str(path), lines, parsed)


def kept(example: str) -> Report:
    """The report of a bus in `conformance/examples`, from the evidence. Raises ReportError, or NoEvidenceError."""
    parsed = evidence.record("examples", example)["lines"]
    return _checked(example, [json.dumps(line) for line in parsed], parsed)


def _checked(path: str, lines: list[str], parsed: list[Any]) -> Report:
    kinds = [line.get("type") if isinstance(line, dict) else None for line in parsed]
    if len(lines) < 2 or kinds != ["header", *["row"] * (len(lines) - 2), "footer"]:
        raise ReportError(f"{path}: a report is a header, rows and a footer; this one was cut or is none")
    report = Report(parsed[0], parsed[1:-1], parsed[-1])
    expected = {"type": "footer", **summary(report.header, report.rows), "sha256": _hash(lines[:-1])}
    for name, value in expected.items():
        if report.footer.get(name) != value:
            raise ReportError(f"{path}: the footer says {name} {report.footer.get(name)!r}, the lines say {value!r}")
    return report


def _hash(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
