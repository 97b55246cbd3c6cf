"""Parts of `worker` answers whose differences say which sentence they break."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from busproof.oracle.models.spec import Difference, Part, differs, plain, same_json
from busproof.words import as_json


@dataclass(frozen=True)
class Lines(Part):
    """The lines of bus.jsonl, and the row that each kind of difference breaks."""

    lines: list[dict[str, Any]]
    no_line: str
    missing: str
    doubled: tuple[str, ...]
    order: str
    content: str

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """Line by line."""
        difference = differs(self.lines, actual, path, rows)
        return difference and replace(difference, rows=self._broken_by(actual))

    def held(self, actual: Any, rows: set[str]) -> None:
        """Every sentence about a line, once there is one."""
        if actual:
            rows.update((self.no_line, self.missing, *self.doubled, self.order, self.content))

    def _broken_by(self, actual: list[Any]) -> tuple[str, ...]:
        if not all(isinstance(line, dict) for line in actual):
            return (self.no_line,)
        seqs, wanted = [line.get("seq") for line in actual], [plain(line["seq"]) for line in self.lines]
        if any(seq not in seqs for seq in wanted):
            return (self.missing,)
        if len(seqs) > len(wanted):
            return self.doubled
        return (self.content if seqs == wanted else self.order,)

    def __repr__(self) -> str:
        return as_json(self.lines)


def announces(kind: str, value: Any) -> bool:
    """Is it the content of a change of state? Its sender may say more than from where and to where."""
    return kind == "state_change" and isinstance(value, dict) and value.keys() == {"from", "to"}


@dataclass(frozen=True)
class AtLeast(Part):
    """A JSON object with these members; it may have others."""

    value: dict[str, Any]

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """Member by member."""
        if isinstance(actual, dict) and same_json(self.value, {n: v for n, v in actual.items() if n in self.value}):
            return None
        return Difference(path, as_json(self.value), as_json(actual), rows)

    def __repr__(self) -> str:
        return as_json(self.value)


@dataclass(frozen=True)
class JsonText(Part):
    """A payload's JSON text, spaced and escaped as any language may write it. `kind` is its message's type."""

    text: str
    kind: str
    are_doubles: bool = False

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """By value, where both are JSON."""
        if actual == self.text:
            return None
        try:
            wanted, seen = json.loads(self.text), json.loads(actual)
        except (TypeError, ValueError, RecursionError):
            return Difference(path, as_json(self.text), as_json(actual), rows)
        if announces(self.kind, wanted):
            return AtLeast(wanted).differs(seen, path, rows)
        if same_json(wanted, seen, are_doubles=self.are_doubles):
            return None
        return Difference(path, as_json(self.text), as_json(actual), rows)

    def __repr__(self) -> str:
        return as_json(self.text)
