"""A badge: the verdict as a small SVG, and as JSON for badge services."""

from __future__ import annotations

import json
from pathlib import Path

from busproof.pages.report.lines import Report

_COLOURS = {"valid": "#18794e", "invalid": "#c4281c", "unknown": "#a15c00"}


def write(report: Report, folder: Path) -> None:
    """badge.svg and badge.json."""
    label, message, colour = _said(report)
    data = {"schemaVersion": 1, "label": label, "message": message, "color": colour}
    (folder / "badge.json").write_text(json.dumps(data) + "\n", encoding="utf-8")
    (folder / "badge.svg").write_text(svg(report), encoding="utf-8")


def svg(report: Report) -> str:
    """The badge as a picture."""
    label, message, colour = _said(report)
    left, right = 8 * len(label) + 12, 8 * len(message) + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{label}: {message}" font-family="Verdana,DejaVu Sans,sans-serif" font-size="12" fill="#fff" '
        f'text-anchor="middle"><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        f'<text x="{left / 2}" y="14">{label}</text><text x="{left + right / 2}" y="14">{message}</text></svg>\n'
    )


def _said(report: Report) -> tuple[str, str, str]:
    return f"busproof {report.header['system']}", report.verdict, _COLOURS[report.verdict]
