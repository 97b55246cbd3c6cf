"""Known failures: the implementer's own list of rows that fail today, and why.

    [[known]]
    id = "worker.lease.16"
    reason = "we cannot tell a full disk from contention yet"
    url = "https://example.org/issues/7"
    expires = 2027-01-01          # optional

A listed row that fails does not fail the run. A listed row that passes (stale), that is no row (unmatched) or whose
date is over fails it: the list must stay true.
"""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from busproof.contract.catalogue import catalogue
from busproof.words import reason


class KnownFailure(BaseModel):
    """One entry."""

    model_config = ConfigDict(extra="forbid")

    id: str
    reason: str
    url: str
    expires: datetime.date | None = None


def load(path: Path) -> list[KnownFailure]:
    """Read the file. Raises ValueError that names the file and the fault in it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        if data.keys() - {"known"}:
            raise ValueError(f"unknown tables {sorted(data.keys() - {'known'})}; entries are [[known]]")
        return [KnownFailure.model_validate(entry) for entry in data.get("known", [])]
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {reason(error)}") from error


def faults(
    entries: list[KnownFailure], failed: set[str], decided: set[str], system: str, today: datetime.date
) -> list[str]:
    """The faults of the list itself, after a run that decided these rows."""
    wrong = []
    for entry in entries:
        if entry.id not in catalogue(system):
            wrong.append(f"{entry.id} is listed as known and is no requirement")
        elif entry.expires is not None and entry.expires < today:
            wrong.append(f"{entry.id} is listed as known until {entry.expires}, which is over")
        elif entry.id in decided and entry.id not in failed:
            wrong.append(f"{entry.id} is listed as known and does not fail any more: take it off the list")
    return wrong
