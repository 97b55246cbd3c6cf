"""JUnit XML, for CI servers: a test case for each row and fleet."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from busproof.pages.report.lines import Report


def write(report: Report, path: Path) -> None:
    """could-not-run and inconclusive are errors, because a row that did not run is never green."""
    suite = ET.Element("testsuite", name=f"busproof {report.header['system']}", tests=str(len(report.rows)))
    counts = {"failures": 0, "errors": 0, "skipped": 0}
    known = set(report.footer["known_failed"])
    for row in report.rows:
        case = ET.SubElement(suite, "testcase", classname=f"{row['fleet']}.{row['check']}", name=row["requirement"])
        outcome = row["outcome"]
        if outcome == "fail" and row["requirement"] not in known:
            counts["failures"] += 1
            ET.SubElement(case, "failure", message=_clean(row["why"]))
        elif outcome in ("could-not-run", "inconclusive"):
            counts["errors"] += 1
            ET.SubElement(case, "error", message=_clean(f"{outcome}: {row['why']}"))
        elif outcome == "not-applicable" or (outcome == "fail" and row["requirement"] in known):
            counts["skipped"] += 1
            ET.SubElement(case, "skipped", message=_clean(row["why"]))
        elif outcome == "warn":
            ET.SubElement(case, "system-out").text = _clean(f"warn: {row['why']}")
    for name, count in counts.items():
        suite.set(name, str(count))
    ET.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _clean(text: str) -> str:
    """XML 1.0 has no place for most control characters and for half surrogates."""
    return "".join(
        c if c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "\ufffd"
        for c in text
    )
