"""The report for a terminal: the verdict, the broken rows with their evidence, and the next steps."""

from __future__ import annotations

import json
import os
import shlex
import sys
import textwrap
from collections import Counter
from typing import IO, Any

from busproof.contract import CONTRACTS
from busproof.contract.catalogue import CORPUS, HISTORY, catalogue
from busproof.pages.report.causes import (
    by_first_row,
    causes,
    chosen,
    first_step,
    held_elsewhere,
    marked,
    others,
    script_of,
)
from busproof.pages.report.lines import Report
from busproof.words import one_line, printable

WIDTH = 100
IDS_SHOWN = 24
WARN_LINES = 5  # of a warning; the report has all of it
EVENTS_SHOWN = 6
EVIDENCE_LINES = 4  # of it: the difference, the call, both answers
IN_LINES = (CORPUS, "explore")  # their words of a difference are lines of ours, with the bus's words escaped
_COLOURS = {
    "invalid": "31",
    "fail": "31",
    "valid": "32",
    "pass": "32",
    "unknown": "33",
    "warn": "33",
    "could-not-run": "33",
    "differs": "4",
}


def render(report: Report, out: IO[str] | None = None, *, report_path: str = "", brief: bool = False) -> None:
    """Print it; `brief`: without the evidence.

    Colours only for a terminal without NO_COLOR. The bus's words have none, and no lines of their own.
    """
    report = Report(_told(report.header), [_row(row) for row in report.rows], _told(report.footer))
    out = out or sys.stdout
    has_colour = out.isatty() and "NO_COLOR" not in os.environ

    def paint(text: str, kind: str) -> str:
        return f"\x1b[1;{_COLOURS[kind]}m{text}\x1b[0m" if has_colour and kind in _COLOURS else text

    header, footer = report.header, report.footer
    hello = header["hello"]
    lines = [] if brief else [""]
    if not brief:
        for cause, *alike in by_first_row(causes(report.rows)):
            lines += _broken(cause[0], header, paint)
            lines += _same_cause(cause)
            lines += _other_ways(cause, alike)
        lines += _first_steps(report, paint)
    warnings = chosen(report.rows)
    if warnings and not brief:
        lines += ["Another choice than the reference's (dialect), or a SHOULD that does not hold:"]
        for row in warnings:
            why, *evidence = row["why"].split("\n")
            shown = [line for line in evidence[:EVIDENCE_LINES] if not line.startswith("before it")]
            first, *more = [*_wrapped(why), *map(_cut, shown)]
            lines += [f"  {paint('warn', 'warn')} {row['requirement']}  {first}", *(f"       {line}" for line in more)]
        lines += [""]
    lines += [f"{fault}" for fault in header.get("known_faults", [])]
    counts = ", ".join(f"{count} {outcome}" for outcome, count in footer["counts"].items())
    verdict = paint(report.verdict.upper(), report.verdict)
    failed = sum(first[0]["outcome"] == "fail" for first, *_ in by_first_row(causes(report.rows)))
    counts += f" ({failed} causes)" if failed > 1 else ""
    lines += [f"{verdict}  {hello['name']} {hello['version']} as a {header['system']} bus{_part(header)}: {counts}"]
    lines += _not_applicable(report.rows)
    if footer["known_failed"]:
        lines += [f"known failures, not counted: {', '.join(footer['known_failed'])}"]
    left_out, calls = header.get("left_out", (0, 0))
    if left_out:
        lines += [f"The corpus left out {left_out:,} of {calls:,} calls: they need {_undeclared(header)}."]
        lines += textwrap.wrap(not_asked(header), WIDTH, initial_indent="  ", subsequent_indent="  ")
    if header.get("undecided"):
        lines += [
            f"The corpus left {header['undecided']} races undecided: a call is not asked in some order, or many ends."
        ]
    if header.get("not_played"):
        lines += [f"The corpus ended early, as enough had broken: {header['not_played']} scripts were not played."]
    chaos = header.get("chaos_rows", 0)
    if chaos:
        command = f"busproof chaos {header['system']}{_bus(header)}".replace("'faketime:", "'")
        lines += [f"{chaos} more rows need fault injection:  {command}"]
    if report_path:
        lines += [f"Report: {report_path}"]
    print("\n".join(lines), file=out)


def _first_steps(report: Report, paint: Any) -> list[str]:
    """One line a cause: where to begin."""
    firsts = [cause[0][0] for cause in by_first_row(causes(report.rows))]
    steps = [f"  {paint(row['requirement'].ljust(18), row['outcome'])} {first_step(row)}" for row in firsts]
    return ["The first step for each cause:", *steps, ""] if len(steps) > 1 else []


def _not_applicable(rows: list[dict[str, Any]]) -> list[str]:
    """The nouns and features for which rows were left alone, and how many. A row that any fleet judged was not; one
    that needs several is counted for each."""
    judged = {row["requirement"] for row in rows if row["outcome"] != "not-applicable"}
    of_bus = [row for row in rows if row["fleet"] != "mixed" and row["requirement"] not in judged]
    alone = {row["requirement"]: row["why"] for row in of_bus}
    lacks = Counter(
        name for why in alone.values() for name in why.removeprefix("the bus does not declare ").split(", ")
    )
    names = ", ".join(f"{name} ({count})" for name, count in lacks.most_common())
    return textwrap.wrap(f"Not applicable, as undeclared: {names}", WIDTH, subsequent_indent="  ") if names else []


def _part(header: dict[str, Any]) -> str:
    """A verdict on a part is none on the whole; a noun or a check alone plays no script of the corpus."""
    only, (_, calls) = header.get("only", []), header.get("left_out", (0, 0))
    return f" (in part: {', '.join(only)}{'' if calls else '; no corpus'})" if only else ""


def _same_cause(cause: list[dict[str, Any]]) -> list[str]:
    same, last = others(cause), held_elsewhere(cause)
    lines = _ids(f"the same of {len(same)} more:", same)
    lines += _ids(f"{len(last)} more are of the same calls, but held in many other scripts (look at them last):", last)
    return [*lines, ""] if lines else []


def _other_ways(first: list[dict[str, Any]], more: list[list[dict[str, Any]]]) -> list[str]:
    """Other differences that break the same row first, with the rows that only they break."""
    if not more:
        return []
    with_it = {name.partition(" ")[0] for cause in more for name in others(cause)}
    rows = sorted(with_it - {name.partition(" ")[0] for name in others(first)})
    ways = f"it breaks in {len(more)} more {'way' if len(more) == 1 else 'ways'}, shown in report.html"
    return [*(_ids(f"{ways}, and with it:", rows) or [f"     {ways}"]), ""]


def _ids(says: str, ids: list[str]) -> list[str]:
    if not ids:
        return []
    text = ", ".join(ids[:IDS_SHOWN]) + (f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else "")
    return [f"     {says}", *(f"       {line}" for line in textwrap.wrap(text, WIDTH))]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its texts fit for a terminal; only texts that the kit itself wrote in lines have lines."""
    texts: dict[str, Any] = _told(row)
    if row["check"] in IN_LINES:
        texts["why"] = printable(row["why"])
    return texts


def _told(value: Any) -> Any:
    """A value of the report with every text in it fit for a terminal."""
    match value:
        case str():
            return one_line(value)
        case dict():
            return {one_line(key): _told(inner) for key, inner in value.items()}
        case list():
            return [_told(inner) for inner in value]
    return value


def _broken(row: dict[str, Any], header: dict[str, Any], paint: Any) -> list[str]:
    requirement = catalogue(header["system"])[row["requirement"]]
    where = " (on a mixed fleet)" if row["fleet"] == "mixed" else ""
    lines = [
        f"{paint(row['outcome'], row['outcome'])} {row['requirement']} {requirement.level}{where}: {requirement.text}",
        f"     {requirement.source}; decided by {row['check']}",
        *(f"     {_pointed(pieces, paint)}" for pieces in marked(row["why"])),
    ]
    if row["check"] not in IN_LINES:  # their lines tell the calls
        lines += [f"     {_event(event)}" for event in _last(row["events"])]
    lines += [f"     first step: {first_step(row)}"]
    if row["script"] and not row["events"]:
        lines += [f"     {_cut(json.dumps(step))}" for step in row["script"][-8:]]
    lines += [f"     replay: {replay_command(row, header)}", ""]
    return lines


def _pointed(pieces: list[tuple[str, bool]], paint: Any) -> str:
    return "".join(paint(text, "differs") if differs else text for text, differs in pieces)


def _last(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last of them, from a place on where no call is under way: each answer comes with its call."""
    start = max(0, len(events) - EVENTS_SHOWN)
    while start and not _is_whole(events[start:]):
        start -= 1
    return events[start:]


def _is_whole(events: list[dict[str, Any]]) -> bool:
    called = set()
    for event in events:
        if event["type"] == "invoke":
            called.add(event["process"])
        elif event["type"] in ("ok", "fail", "info") and event["process"] not in called:
            return False
    return True


def replay_command(row: dict[str, Any], header: dict[str, Any]) -> str:
    """One command that plays the row's check again."""
    if again := row.get("again") or header.get("again", {}).get(row["check"]):
        return str(again)  # another run than `check` wrote this report
    item = catalogue(header["system"])[row["requirement"]].item
    if row["check"].startswith(f"{HISTORY}."):
        item = HISTORY  # also where the row is another check's
    if row["check"] == CORPUS:
        script = script_of(row)
        item = f"{CORPUS}:{script}" if script else CORPUS
    command = f"busproof check {header['system']}{_bus(header)} --only {item}"
    if row["fleet"] == "mixed":
        command += f" --mixed-with {shlex.quote(header['mixed_with'])}"
    if header.get("seed") is not None:
        command += f" --seed {header['seed']}"
    return command + (" --nightly" if header.get("nightly") else "")


def not_asked(header: dict[str, Any]) -> str:
    """The calls that the corpus left out here, by method: a verdict says nothing of them. Empty if there are none."""
    counts = ", ".join(f"{method} {count:,}" for method, count in header.get("not_asked", {}).items())
    return f"not asked: {counts}" if counts else ""


def _undeclared(header: dict[str, Any]) -> str:
    """The nouns and features that the bus could declare and does not."""
    contract, hello = CONTRACTS[header["system"]], header["hello"]
    declared = {*hello["nouns"], *hello["features"]}
    missing = [name for name in (*contract.profiles["full"], *contract.features) if name not in declared]
    return (
        f"what this bus does not declare ({', '.join(missing)})"
        if missing
        else "a value that an earlier call did not give here (it was refused, or the bus chose otherwise)"
    )


def _bus(header: dict[str, Any]) -> str:
    return f" --bus {shlex.quote(header['bus'])}" if header.get("bus") else ""


def _event(event: dict[str, Any]) -> str:
    value = event.get("value")
    text = value if isinstance(value, str) else json.dumps(value) if value is not None else ""
    agent = event.get("agent") or f"process {event['process']}"
    return _cut(f"{event['index']:>5}  {agent:<8} {event['type']:<6} {event.get('op') or '':<16} {text}")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, max_lines=WARN_LINES, placeholder=" … (the report has all)") or [""]


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH * 2 else text[: WIDTH * 2 - 1] + "…"
