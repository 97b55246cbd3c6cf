"""Problems, and what is known when they are looked for. Pure: dumps, facts and acknowledgements come in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from busproof.history import Event


@dataclass(frozen=True)
class Problem:
    """Something that must not be, under the noun whose rows it breaks."""

    noun: str
    why: str
    events: tuple[int, ...] = ()  # of the history, if some show it
    point: str = ""  # where the nemesis struck
    is_dialect: bool = False  # another choice than the reference's, which RESOLVED rows tell and no other

    @property
    def kind(self) -> tuple[str, str]:
        """The same problem at another point, or with other numbers, is of the same kind."""
        return self.noun, re.sub(r"[0-9]+", "", self.why)[:60]


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
    """All that is known of a store at one moment: what the bus dumps and what its files say."""

    dump: dict[str, Any] | None  # None: the bus cannot dump
    facts: dict[str, Any]
    promises: list[Promise] = field(default_factory=list)
    exported: bool = False  # export_to_jsonl answered, and nothing was published since
    endless: list[Problem] = field(default_factory=list)  # the readings that would not have ended

    def __post_init__(self) -> None:
        if isinstance(self.dump, Shown):
            self.dump = None


def health(evidence: Evidence) -> Iterator[Problem]:
    """What SQLite says of the database, and what the bus does."""
    said_by = {"SQLite": evidence.facts["integrity"], "the bus": (evidence.dump or {}).get("integrity")}
    for who, said in said_by.items():
        if said not in (None, "ok"):
            yield Problem("log", f"integrity_check, asked by {who}: {said}")


def tables(state: dict[str, Any]) -> dict[str, Any]:
    """A comparable state without what stands in files beside the database."""
    return {name: rows for name, rows in state.items() if name != "files"}


def cleaned(
    dump: dict[str, Any], clean: Callable[[dict[str, Any], str, Any], Any], is_kept: Callable[[str], bool]
) -> dict[str, Any]:
    """The tables of a dump: in each row the columns that are kept, each value as `clean` says by row and column."""
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


def difference(expected: dict[str, Any], found: dict[str, Any]) -> str:
    """Where two comparable states differ, for a reader."""
    told = []
    for name in sorted(expected.keys() | found.keys()):
        before, after = expected.get(name), found.get(name)
        if before != after:
            if isinstance(before, list) and isinstance(after, list):
                missing = [row for row in before if row not in after]
                extra = [row for row in after if row not in before]
                counts = "" if missing or extra else f" ({len(before)} rows became {len(after)})"
                told.append(f"{name}: missing {short(missing)}, unexpected {short(extra)}{counts}")
            else:
                told.append(f"{name}: {short(before)} became {short(after)}")
    return "; ".join(told)


def decoded(text: Any) -> Any:
    """The value of a JSON text; something unlike any value where it is none."""
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return {"no JSON": repr(text)}


def short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 300 else text[:300] + "…"
