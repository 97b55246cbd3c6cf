"""One self-contained HTML page: the verdict, a filter by outcome, and a timeline for each broken row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader

from busproof.catalogue import catalogue
from busproof.report.lines import Report
from busproof.report.terminal import replay_command
from busproof.runner import WORST_FIRST


def write(report: Report, path: Path) -> None:
    """Render the template; no script, style or font is fetched from anywhere."""
    rows = catalogue(report.header["system"])
    shown = sorted(report.rows, key=lambda row: (WORST_FIRST.index(row["outcome"]), row["requirement"]))
    environment = Environment(loader=PackageLoader("busproof", "report"), autoescape=True, trim_blocks=True)
    page = environment.get_template("report.html.j2").render(
        header=report.header,
        footer=report.footer,
        verdict=report.verdict,
        rows=[
            {**row, "row": rows[row["requirement"]], "lanes": _lanes(row), "replay": replay_command(row, report.header)}
            for row in shown
        ],
        outcomes=[outcome for outcome in WORST_FIRST if outcome in report.footer["counts"]],
    )
    path.write_text(page, encoding="utf-8", errors="backslashreplace")  # half a character


def _lanes(row: dict[str, Any]) -> dict[str, Any]:
    """The operations as cells of a table: a column for each session, a line for each event."""
    sessions = list(dict.fromkeys(event.get("agent") or f"process {event['process']}" for event in row["events"]))
    lines = []
    for event in row["events"]:
        value = event.get("value")
        text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
        lines.append(
            {
                "index": event["index"],
                "column": sessions.index(event.get("agent") or f"process {event['process']}"),
                "type": event["type"],
                "op": event.get("op") or "",
                "text": text[:300],
            }
        )
    return {"sessions": sessions, "lines": lines}
