"""Causes, not rows: one fault of a bus breaks many rows, and is told once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from busproof.bus.base import HOW_LONG
from busproof.run.result import BUDGET_SPENT, NO_END

OFTEN = 3  # times as many scripts
_SCRIPT = re.compile(r"^script (\S+) of the corpus; ", re.MULTILINE)  # one that shows a difference by itself


def causes(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The rows that did not hold, those of one cause together: the same evidence, or the same difference elsewhere.

    First comes the row that held in the fewest scripts of the corpus, and of its scripts the shortest: a sentence that
    holds elsewhere is broken less likely than one that never does.
    A row that already shows on the bus alone is not told again for the mixed fleet. Calls that were not answered in
    time are one cause, whatever their rows say.
    """
    return _grouped(rows, lambda row: HOW_LONG if HOW_LONG in row["why"] else _difference(row))


_DIFFERS = re.compile(r"^\s*(?P<path>\S.*?): (?P<expected>.*) expected, not (?P<actual>.*)$")
_CALLED = re.compile(r"^\s*process (\S+): (\w+) .*(?:\n.*\n\s*bus:(.*))?", re.MULTILINE)  # who, what, the answer
_BLOCKED_BY = "blocked by "
_BLOCKED = re.compile(rf"{_BLOCKED_BY}([\w.]+)")
# A list that lacks members, or has too many, in the words of the model.
_LACKS = re.compile(r": (?:\d+ of them, with )?(.*) expected, not (?:\d+|a list) without")
_BEFORE = "it before "
_HAS_TOO = re.compile(r"expected, not \d+(?:, with (.*) too$|: (.* is (?:missing|too many))$)")
_NONE = "no such message"
_LOOKS = frozenset({"dump", "hand"})  # a call, or a process, that shows the state: other calls made it
_REFUSAL = "refusal "  # in the words for one (`oracle.models.spec.Refusal`)
STEP_CHARS = 160
WORD_CHARS = 10  # a shorter value stands anywhere
VALUE_CHARS = 70
AROUND_CHARS = 120  # of a long answer, on either side of what differs


def first_step(row: dict[str, Any]) -> str:
    """What to do first about a row that did not hold, in one line."""
    if row.get("step"):
        return str(row["step"])
    lines = [line.strip() for line in row["why"].split("\n") if line.strip()]
    differs = next(filter(None, map(_DIFFERS.match, lines)), None)
    calls = list(_CALLED.finditer(row["why"]))
    member = f'"{_member(differs)}"' if differs else ""
    called = next((call for call in calls if member in (call[3] or "")), calls[0] if calls else None)
    method = called[2] if called else str(row.get("cause", "")).partition(" ")[0]
    is_look = called is not None and not _LOOKS.isdisjoint(called.group(1, 2))
    first = lines[0] if lines else ""
    blocks = _BLOCKED.match(first)
    if row["outcome"] == "could-not-run" and first == BUDGET_SPENT:
        step = f"give the run more time, `--budget 1h`, or play this alone: {first}"
    elif row["outcome"] == "could-not-run" and first.endswith(NO_END):
        step = f"play it alone, and see what the bus writes to its stderr: {first}"
    elif row["outcome"] == "could-not-run":
        step = f"see what it lacks: {first}"
    elif HOW_LONG in row["why"]:
        step = "see on the bus's stderr why no answer came; a slow bus is given more time by BUSPROOF_PATIENCE=10"
    elif blocks:
        step = f"mend {blocks[1]} first"
    elif row["outcome"] == "inconclusive":
        step = f"play what was not decided: {first}"
    elif differs and method:
        step = _made_to_answer(method, differs, is_look=is_look)
    else:
        step = f"play it, and look at its last call: {first}"
    return step if len(step) <= STEP_CHARS else f"{step[: STEP_CHARS - 1]}…"


def _made_to_answer(method: str, differs: re.Match[str], *, is_look: bool) -> str:
    """What the call must do instead, at the place that differs."""
    path, expected, actual = differs["path"], _brief(differs["expected"]), _brief(differs["actual"])
    member = path.removeprefix("reply.")
    if _REFUSAL in expected:
        return f"make `{method}` end in {expected}, not in {actual}"
    if _REFUSAL in actual:
        return f"make `{method}` answer this call; it came out as {actual}"
    if expected == _NONE:
        return f"find why `{method}` shows {member}: {actual}"
    if expected.startswith(_BEFORE):
        return f"find why `{method}` shows {member} too late: behind {expected.removeprefix(_BEFORE)}"
    if lacks := _LACKS.search(differs.string):
        return f"find what {member} of `{method}` lost: {_brief(lacks[1])}"
    if has := _HAS_TOO.search(differs.string):
        return f"find why {_brief(has[2] or f'there is {has[1]}')} in {member} of `{method}`"
    if is_look:
        return f"look for the call that left {actual} for {member}, instead of {expected}"
    return f"make `{method}` answer {expected} for {path}, not {actual}"


def _brief(text: str, most: int = VALUE_CHARS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def marked(why: str) -> list[list[tuple[str, bool]]]:
    """The lines of a row's evidence in pieces; True: the value that differs, in the model's answer and in the bus's."""
    lines = why.split("\n")
    differs = next(filter(None, map(_DIFFERS.match, lines)), None)
    if differs is None:
        return [[(line, False)] for line in lines]
    member = _member(differs)
    sides = {"model:": differs["expected"], "bus:": differs["actual"]}
    return [
        [(_in_brief(differs), False)]
        if line == differs.string
        else _pieces(line, member, sides.get(line.split(maxsplit=1)[0] if line.split() else "", ""))
        for line in lines
    ]


def _member(differs: re.Match[str]) -> str:
    """The name of the member that differs."""
    return next(reversed(re.findall(r"[A-Za-z_]\w*", differs["path"])), "")


def _pieces(line: str, member: str, value: str) -> list[tuple[str, bool]]:
    """A line, with the first place of a value of this member apart."""
    for target in filter(None, (f'"{member}": {value}' if value else "", value if len(value) > WORD_CHARS else "")):
        before, there, after = line.partition(target)
        if there:
            return [(_end(before), False), (there, True), (_brief(after, AROUND_CHARS), False)]
    return [(_brief(line, 2 * AROUND_CHARS) if value else line, False)]


def _in_brief(differs: re.Match[str]) -> str:
    """The line of a difference, with the beginnings of its long values."""
    path, expected, actual = (_brief(text, 2 * AROUND_CHARS) for text in differs.groups())
    return f"{path}: {expected} expected, not {actual}"


def _end(text: str) -> str:
    """The end of a line, behind the word that says whose answer it is."""
    whose, _, answer = text.partition(": ")
    return text if len(text) <= AROUND_CHARS else f"{whose}: …{answer[-AROUND_CHARS:]}"


def _difference(row: dict[str, Any]) -> str:
    return str(row.get("cause") or row["why"])


def _grouped(rows: list[dict[str, Any]], key: Callable[[dict[str, Any]], str]) -> list[list[dict[str, Any]]]:
    alone = {(row["requirement"], row["outcome"]) for row in rows if row["fleet"] == "bus"}
    by_kind: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        is_repeat = row["fleet"] == "mixed" and (row["requirement"], row["outcome"]) in alone
        if row["outcome"] in ("fail", "could-not-run", "inconclusive") and not is_repeat:
            by_kind.setdefault((row["outcome"], key(row)), []).append(row)
    return [sorted(cause, key=lambda row: (row.get("held", 0), row.get("steps", 0))) for cause in by_kind.values()]


def by_first_row(all_causes: list[list[dict[str, Any]]]) -> list[list[list[dict[str, Any]]]]:
    """The causes that have their first row in common, together: a sentence breaks in many scripts, and is told once."""
    together: dict[tuple[str, str], list[list[dict[str, Any]]]] = {}
    for cause in all_causes:
        together.setdefault((cause[0]["requirement"], cause[0]["outcome"]), []).append(cause)
    return list(together.values())


def script_of(row: dict[str, Any]) -> str | None:
    """The script of the corpus that shows by itself that the row is broken."""
    script = _SCRIPT.search(row["why"])
    return script[1] if script else None


def blocked(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The rows that fail only in differences whose first row held in far fewer scripts, and that first row.

    A difference names every sentence that its calls are about. One that held in many other scripts is decided once the
    first one holds.
    """
    by, suspects = dict[str, str](), set[str]()
    for cause in _grouped(rows, _difference):
        if cause[0]["outcome"] == "fail":
            last = held_elsewhere(cause)
            by |= dict.fromkeys(last, cause[0]["requirement"])
            suspects |= {row["requirement"] for row in cause} - set(last)
    return {name: first for name, first in by.items() if name not in suspects}


def settled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows; a failure that is blocked says by which other."""
    by = blocked(rows)
    return [
        _told_blocked(row, by[row["requirement"]]) if row["outcome"] == "fail" and row["requirement"] in by else row
        for row in rows
    ]


def _told_blocked(row: dict[str, Any], first: str) -> dict[str, Any]:
    why = f"{_BLOCKED_BY}{first}: of the same calls, but this one held in {row['held']} other scripts of the corpus"
    return {**row, "outcome": "inconclusive", "why": why}


def others(cause: list[dict[str, Any]]) -> list[str]:
    """The rows that are told under the first one's evidence; with its script where one has its own."""
    first, *rest = cause
    last = held_elsewhere(cause)
    scripts: dict[str, str | None] = {}
    for row in rest:
        if row["requirement"] not in (first["requirement"], *last):
            scripts.setdefault(row["requirement"], script_of(row))
    return [f"{name} (script {own})" if own and own != script_of(first) else name for name, own in scripts.items()]


def held_elsewhere(cause: list[dict[str, Any]]) -> list[str]:
    """The rows of a cause that held in many more scripts of the corpus than the first: look at them last."""
    first, *rest = cause
    many = OFTEN * max(first.get("held", 0), 1)
    return sorted({row["requirement"] for row in rest if row.get("held", 0) > many} - {first["requirement"]})


def chosen(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that warn on the bus alone, but for those of a difference that breaks a MUST: that is no choice."""
    faults = {row["cause"] for row in rows if row["outcome"] == "fail" and row.get("cause")}
    return [
        row for row in rows if row["outcome"] == "warn" and row["fleet"] == "bus" and row.get("cause", "") not in faults
    ]
