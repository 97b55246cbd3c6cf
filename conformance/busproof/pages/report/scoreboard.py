"""The scoreboard: judged buses side by side, a table per system, a page for each bus, all from their reports."""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from busproof import evidence
from busproof.bus.toml.form import Door
from busproof.bus.toml.form import load as load_form
from busproof.contract import CONTRACTS
from busproof.contract.catalogue import catalogue
from busproof.pages.report import badge
from busproof.pages.report.causes import causes
from busproof.pages.report.lines import Report, kept, load
from busproof.words import printable

WHY_CHARS = 240
FIELD = evidence.FOLDER.parent / "examples" / "field"
ACTS = ("failed", "chaos")  # tables of expected.toml: what `check` finds, and what `chaos` finds


def write(reports: Sequence[Path], folder: Path) -> list[Path]:
    """README.md, and a page and a badge for each report. Returns the pages. Raises ReportError."""
    folder.mkdir(parents=True, exist_ok=True)
    judged = sorted(((load(path), path) for path in reports), key=lambda pair: _name(pair[0]))
    pages = {folder / "README.md": _index([(report, _badge(report), f"{_name(report)}.md") for report, _ in judged])}
    for report, path in judged:
        pages[folder / f"{_name(report)}.md"] = _page(report, Path(os.path.relpath(path, folder)))
        (folder / f"{_name(report)}.svg").write_text(badge.svg(report), encoding="utf-8")
    for place, text in pages.items():
        place.write_text(printable(text), encoding="utf-8")
    return list(pages)


def of_examples() -> str:
    """docs/scoreboard.md: the public buses first, then the table of the examples, from the evidence."""
    judged = [(kept(name), f"../conformance/examples/{name}/README.md") for name in evidence.read("examples")]
    judged.sort(key=lambda pair: _name(pair[0]))
    head, _, tables = _index([(report, report.verdict, link) for report, link in judged]).partition("\n## ")
    return f"{head}\n{of_field()}\n## {tables}"


def of_field() -> str:
    """Public buses of agents, from the file that maps each and the file of what is expected of it."""
    lines = [
        "## Public buses, as a mailbox",
        "",
        "Nobody here wrote these buses. Each is mapped by a file of at most 30 lines, or an adapter of 25, and judged",
        "for what its own documents promise. A row that fails is a fault, which a script of the bus's own interface",
        "shows again.",
        "*unknown*: no row failed, and not all rows of `check` have been decided yet.",
        "",
        "| bus | language | door | verdict | what breaks: check | chaos |",
        "|---|---|---|---|---|---|",
    ]
    for folder in sorted(path.parent for path in FIELD.glob("*/expected.toml")):
        title, door, expected = of_bus(folder)
        page = "README.md" if (folder / "README.md").exists() else "bus.toml"
        name = f"[{_cell(title)}](../conformance/examples/field/{folder.name}/{page})"
        broken = [" ".join(f"`{row.removeprefix('mailbox.')}`" for row in expected.get(act, {})) for act in ACTS]
        cells = [name, expected["language"], door, expected["verdict"], *broken]
        lines += [f"| {' | '.join(cells)} |"]
    return "\n".join(lines) + "\n"


def of_bus(folder: Path) -> tuple[str, str, dict[str, Any]]:
    """A public bus: its name and version, its door, and what is expected of it."""
    expected = tomllib.loads((folder / "expected.toml").read_text(encoding="utf-8"))
    if "adapter" in expected:
        return re.sub("==|(?<=.)@", " ", expected["package"].split()[1]), "adapter", expected
    form = load_form(folder / "bus.toml")
    return form.name, _door(form.door), expected


def _door(door: Door) -> str:
    if door.mcp or door.mcp_url:
        return "MCP server"
    return "command line" if door.cli else "JSON API"


def _badge(report: Report) -> str:
    return f"![{report.verdict}]({_name(report)}.svg)"


def _index(judged: list[tuple[Report, str, str]]) -> str:
    """The table. Each report comes with its verdict as the table shows it, and with what its name leads to."""
    lines = [
        "<!-- Generated: python -m busproof.pages.worth -->",
        "# Buses that were judged",
        "",
        "A cell says how many rows of a noun held, of all rows that apply; an empty cell is a noun that the bus does",
        "not declare. A row that could not run or stayed undecided did not hold. A row whose choice the specification",
        "leaves open held. VALID is a verdict on what a bus declares.",
    ]
    for system, contract in CONTRACTS.items():
        of_system = [entry for entry in judged if entry[0].header["system"] == system]
        if not of_system:
            continue
        nouns = contract.profiles["full"]
        lines += [
            "",
            f"## {system}",
            "",
            f"| bus | language | verdict | {' | '.join(nouns)} |",
            "|---|---|---|" + "---|" * len(nouns),
        ]
        for report, verdict, link in of_system:
            hello = report.header["hello"]
            name = f"[{_cell(hello['name'])} {_cell(hello['version'])}]({link})"
            cells = [_held(report, noun) for noun in nouns]
            lines += [f"| {name} | {_cell(hello['language'])} | {verdict} | {' | '.join(cells)} |"]
    return "\n".join(lines) + "\n"


def _page(report: Report, path: Path) -> str:
    header, hello = report.header, report.header["hello"]
    rows, system = catalogue(header["system"]), header["system"]
    counts = ", ".join(f"{count} {outcome}" for outcome, count in report.footer["counts"].items())
    about = path.parent / "README.md"
    lines = [
        f"# {_cell(hello['name'])} {_cell(hello['version'])} as a `{system}` bus",
        "",
        f"**{report.verdict.upper()}**: {counts}. Judged by busproof {header['busproof']} on {header['started'][:10]}",
        f"({_way(header)}): [the report]({path.as_posix()}); [the bus, and its failures argued]({about.as_posix()}).",
        "",
        f"Declared: {', '.join(hello['nouns'])}; features: {', '.join(hello['features']) or 'none'}.",
        "",
    ]
    broken = [
        cause for cause in causes(report.rows) if cause[0]["requirement"] in rows or cause[0]["outcome"] == "fail"
    ]
    for outcome, title in (("fail", "What broke"), ("", "What was not decided")):
        of_outcome = [cause for cause in broken if (cause[0]["outcome"] == "fail") == bool(outcome)]
        if not of_outcome:
            continue
        lines += [f"## {title}", "", "| rows | the first says | seen |", "|---|---|---|"]
        for cause in of_outcome:
            names = list(dict.fromkeys(row["requirement"] for row in cause))
            first = rows.get(names[0])
            says = first.text if first else "a row of an earlier catalogue"
            lines += [f"| {', '.join(names)} | {_cell(says)} | {_cell(cause[0]['why'])} |"]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def _way(header: dict[str, Any]) -> str:
    clock = header["hello"]["clock"]
    way = f"seed {header['seed']}, clock {clock}"
    if str(header["bus"]).startswith("faketime:"):
        way += " from outside"
    return way + (f", mixed with {_cell(header['mixed_with'])}" if header["mixed_with"] else "")


def _held(report: Report, noun: str) -> str:
    """`held of decided`, by row: for a row on several fleets the worst counts."""
    outcomes: dict[str, set[str]] = {}
    for row in report.rows:
        if row["requirement"].split(".")[1] == noun and row["outcome"] != "not-applicable":
            outcomes.setdefault(row["requirement"], set()).add(row["outcome"])
    if noun not in report.header["hello"]["nouns"] or not outcomes:
        return ""
    counted = Counter(of_row <= {"pass", "warn"} for of_row in outcomes.values())
    held = f"{counted[True]} of {counted.total()}"
    return held if not counted[False] else f"**{held}**"


def _name(report: Report) -> str:
    words = f"{report.header['system']}-{report.header['hello']['name']}"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _cell(text: object) -> str:
    """A stranger's words in a cell of a table, as words alone."""
    plain = " ".join(str(text).split())
    plain = plain if len(plain) <= WHY_CHARS else plain[:WHY_CHARS] + "…"
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", plain)
