"""One self-contained HTML page: the verdict, nouns by outcomes, each cause with a picture, and every row."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader

from busproof.contract.catalogue import catalogue
from busproof.pages.report.causes import causes, chosen, first_step, held_elsewhere, marked, others
from busproof.pages.report.lines import Report, worst_by_row
from busproof.pages.report.swimlane import picture
from busproof.pages.report.terminal import not_asked, replay_command
from busproof.run.result import WORST_FIRST
from busproof.words import printable

# The picture shows the steps, and the line below it plays the script.
_STEPS = re.compile(
    r"^\s*before it, .* steps:\n(  .*\n)*(\s*script .* of the corpus; play it again: .*)?", re.MULTILINE
)


def write(report: Report, path: Path) -> None:
    """Render the template; no script, style or font is fetched from anywhere."""
    rows = sorted(
        map(_shown(report), report.rows), key=lambda row: (WORST_FIRST.index(row["outcome"]), row["requirement"])
    )
    by_cause = sorted(causes(report.rows), key=lambda cause: WORST_FIRST.index(cause[0]["outcome"]))
    environment = Environment(loader=PackageLoader("busproof.pages", "report"), autoescape=True, trim_blocks=True)
    page = environment.get_template("report.html.j2").render(
        header=report.header,
        footer=report.footer,
        not_asked=not_asked(report.header),
        verdict=report.verdict,
        matrix=_matrix(rows),
        causes=[
            {"first": _shown(report)(cause[0]), "others": others(cause), "last": held_elsewhere(cause)}
            for cause in by_cause
        ],
        warnings=list(map(_shown(report), chosen(report.rows))),
        known=_known(report),
        rows=_by_row(rows),
        outcomes=[outcome for outcome in WORST_FIRST if outcome in report.footer["counts"]],
    )
    path.write_text(printable(page), encoding="utf-8")  # harmless in a terminal, too


def _shown(report: Report) -> Any:
    """A row of the report, with the page's additions."""
    known = catalogue(report.header["system"])

    def shown(row: dict[str, Any]) -> dict[str, Any]:
        drawn = picture(row["events"])
        return {
            **row,
            "row": known[row["requirement"]],
            "picture": drawn,
            "lines": marked(_STEPS.sub("", row["why"]).rstrip() if drawn else row["why"]),
            "first_step": first_step(row),
            "replay": replay_command(row, report.header),
        }

    return shown


def _known(report: Report) -> list[dict[str, Any]]:
    """The user's list of known failures, each with what became of it in this run: its worst outcome, if any."""
    outcomes = worst_by_row(report.rows)
    entries = report.header.get("known_entries", [])
    return [{**entry, "outcome": outcomes.get(entry["id"], "not played")} for entry in entries]


def _by_row(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row once, by its worst outcome, with all that decided it. `rows` are the worst first."""
    by_row: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_row.setdefault(row["requirement"], []).append(row)
    return [
        {
            **group[0],
            "checks": list(dict.fromkeys(r["check"] for r in group)),
            "told": [r for r in group if r["outcome"] != "pass" or r["why"] or r["picture"]],
        }
        for group in by_row.values()
    ]


def _matrix(rows: list[dict[str, Any]]) -> dict[str, Counter[str]]:
    """Noun → the number of its rows by outcome; a row counts once, by its worst fleet. `rows` are the worst first."""
    by_noun: dict[str, Counter[str]] = {}
    seen: set[str] = set()
    for row in rows:
        counts = by_noun.setdefault(row["row"].noun, Counter())
        if row["requirement"] not in seen:
            counts[row["outcome"]] += 1
        seen.add(row["requirement"])
    return dict(sorted(by_noun.items()))
