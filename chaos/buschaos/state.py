"""Problems, and the evidence in which they are looked for. Pure: the input is dumps, facts and acknowledgements."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from busproof.contract.history import Event

ROWS_TOLD = 5  # of each table that differs
_NAMES = re.compile(r"(id|name|path|file|subject|agent|task)$")  # columns by which a reader knows a row


_IDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]+")


@dataclass(frozen=True)
class Problem:
    """Something that must not be, under the noun whose rows it breaks."""

    noun: str
    why: str
    events: tuple[int, ...] = ()  # of the history, if some show it
    point: str = ""  # where the nemesis struck
    again: str = ""  # the flags that play this place alone; empty: the whole act does
    is_dialect: bool = False  # another choice than the reference's, which only RESOLVED rows tell
    is_by_luck: bool = False  # the machine chose which of two that both could go on went first

    @property
    def kind(self) -> tuple[str, str]:
        """The same problem at another point, or with other ids or numbers, is of the same kind."""
        return self.noun, _IDS.sub("", self.why)[:60]


@dataclass(frozen=True)
class Promise:
    """A message that the bus acknowledged: it must be there, once, at this seq, with this content."""

    id: str
    seq: int | None
    message: dict[str, Any]


class Shown(dict[str, Any]):
    """A state as readers are shown it: enough to compare two of them, not to know what is missing."""


@dataclass
class Evidence:
    """All that is known of a store at one moment: the dump of the bus and the facts of its files."""

    dump: dict[str, Any] | None  # None: the bus cannot dump
    facts: dict[str, Any]
    promises: list[Promise] = field(default_factory=list)
    exported: bool = False  # export_to_jsonl answered, and nothing was published since
    endless: list[Problem] = field(default_factory=list)  # the last readings that had no end, or were refused

    def __post_init__(self) -> None:
        if isinstance(self.dump, Shown):
            self.dump = None


def health(evidence: Evidence) -> Iterator[Problem]:
    """The problems of the database that SQLite reports, and those that the bus reports."""
    said_by = {"SQLite": evidence.facts["integrity"], "the bus": (evidence.dump or {}).get("integrity")}
    for who, verdict in said_by.items():
        if verdict not in (None, "ok"):
            yield Problem("log", f"integrity_check, asked by {who}: {verdict}")


def tables(state: dict[str, Any]) -> dict[str, Any]:
    """A comparable state without the files beside the database."""
    return {name: rows for name, rows in state.items() if name != "files"}


def cleaned(
    dump: dict[str, Any], clean: Callable[[dict[str, Any], str, Any], Any], is_kept: Callable[[str], bool]
) -> dict[str, Any]:
    """The tables of a dump: in each row the columns that are kept, each value as `clean` makes it by row and column."""
    return {
        table: [{name: clean(row, name, value) for name, value in row.items() if is_kept(name)} for row in rows]
        for table, rows in dump.items()
        if isinstance(rows, list)
    }


def answered(events: Iterable[Event]) -> Iterator[tuple[Any, Event]]:
    """Every call of a history that was answered well: its params, and the answer."""
    asked: dict[int, Any] = {}
    for event in events:
        if event.type == "invoke":
            asked[event.process] = event.value
        elif event.type == "ok":
            yield asked[event.process], event


def difference(expected: dict[str, Any], actual: dict[str, Any]) -> str:
    """Tell a reader where two comparable states differ."""
    parts = []
    for name in sorted(expected.keys() | actual.keys()):
        before, after = expected.get(name), actual.get(name)
        if before != after:
            if isinstance(before, list) and isinstance(after, list):
                parts.append(f"{name}: {_rows(before, after)}")
            else:
                parts.append(f"{name}: {short(before)} became {short(after)}")
    return "; ".join(parts)


LONG = 160  # a difference of more characters is told in lines
_FIELDS = re.compile(
    r"(?<=[:;]) (?=\w+: (?:(?:of|missing|unexpected) [\[{]|.{1,300} became ))"  # a table
    r"|(?<=,) (?=(?:of|missing|unexpected) [\[{])"  # a row of it
    r"|(?<=,) (?=\w+ [^ ]+ became )"  # a column of that
)


def by_field(why: str) -> list[str]:
    """A long difference in lines: each table, each row, and each column that changed has one of its own."""
    return _FIELDS.split(why) if len(why) > LONG else [why]


def _rows(before: list[Any], after: list[Any]) -> str:
    """Rows that changed, by the columns that did; those that are missing, and those that nobody expected."""
    missing, extra = without(before, after), without(after, before)
    if not missing and not extra:
        return "the rows stand in another order"
    changed = []
    for row in list(missing):
        other = max(extra, key=lambda new: len(_in_common(row, new)), default=None) if isinstance(row, dict) else None
        if other is not None and 2 * len(_in_common(row, other)) > len(row):
            missing.remove(row)
            extra.remove(other)
            changed.append(_changed(row, other))
    more = [f"and {len(changed) - ROWS_TOLD} rows more"] if len(changed) > ROWS_TOLD else []
    gone = [f"missing {short(missing)}"] if missing else []
    new = [f"unexpected {short(extra)}"] if extra else []
    return ", ".join([*changed[:ROWS_TOLD], *more, *gone, *new])


def without(rows: list[Any], others: list[Any]) -> list[Any]:
    """Each row as often as it stands here without a match there."""
    left = list(others)
    left_over = []
    for row in rows:
        if row in left:
            left.remove(row)
        else:
            left_over.append(row)
    return left_over


def _in_common(row: Any, other: Any) -> dict[str, Any]:
    """The columns in which two rows agree."""
    if not isinstance(row, dict) or not isinstance(other, dict):
        return {}
    return {name: value for name, value in row.items() if name in other and other[name] == value}


def _changed(row: dict[str, Any], other: dict[str, Any]) -> str:
    """One row before and after: the columns by which it is known, and those that differ."""
    same = _in_common(row, other)
    known = {name: value for name, value in same.items() if _NAMES.search(name) and value is not None}
    columns = [name for name in {**row, **other} if name not in same]
    changes = ", ".join(f"{name} {short(row.get(name))} became {short(other.get(name))}" for name in columns)
    return f"of {short(known or same)} {changes}"


def decoded(text: Any) -> Any:
    """The value of a JSON text, or a value as it is; something unlike any value if the text is no JSON."""
    if isinstance(text, (dict, list)):
        return text
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return {"no JSON": repr(text)}


def short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 300 else text[:300] + "…"
