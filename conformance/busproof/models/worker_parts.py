"""Parts of `worker` answers whose differences say which sentence they break."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from busproof.models.spec import Difference, Part, differs, plain


@dataclass(frozen=True)
class Lines(Part):
    """The lines of bus.jsonl, and the row that each kind of difference breaks."""

    lines: list[dict[str, Any]]
    no_line: str
    missing: str
    doubled: str
    order: str
    content: str

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """Line by line."""
        found = differs(self.lines, actual, path, rows)
        return found and replace(found, rows=(self._broken_by(actual),))

    def _broken_by(self, actual: list[Any]) -> str:
        if not all(isinstance(line, dict) for line in actual):
            return self.no_line
        seqs, wanted = [line.get("seq") for line in actual], [plain(line["seq"]) for line in self.lines]
        if any(seq not in seqs for seq in wanted):
            return self.missing
        if len(seqs) > len(wanted):
            return self.doubled
        return self.content if seqs == wanted else self.order

    def __repr__(self) -> str:
        return repr(self.lines)
