"""The requirement catalogue: one row for every normative sentence of a seed.

Rows live in `requirements/SYSTEM.toml`. A row is checked by a named check or excluded with a reason, never neither.
Ids are stable: a row that goes is never renumbered.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from busproof.contract import CONTRACTS, Noun

Level = Literal["MUST", "SHOULD", "RESOLVED"]
Kind = Literal["scenario", "history", "explore", "corpus", "chaos", "excluded"]

HISTORY = "history"  # the item that all rows of kind history share: one workload decides them together
EXPLORE = "explore"  # the item of rows that say "any program behaves as the model": one search decides them together
CORPUS = "corpus"  # the check, and the item, of rows that the model's branches cite and no script need tell apart


def kind_of(check: str) -> Kind:
    """The kind of a check: a prefix names all kinds except scenarios, which begin with their noun."""
    prefix = check.partition(".")[0]
    return prefix if prefix in ("history", EXPLORE, CORPUS, "chaos") else "scenario"  # type: ignore[return-value]


class Requirement(BaseModel):
    """One sentence, its place, and its check."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str  # SYSTEM.NOUN.NN
    level: Level
    text: str  # the requirement in our own words; docs/spec has the whole
    source: str  # "seed 000, Delivery Semantics" or "W5"
    noun: Noun
    needs: tuple[str, ...] = ()  # features without which the row is not applicable; "clock" wants a settable clock
    check: str | None = None  # SCENARIO name, "history.NAME", "explore", "corpus", or "chaos.NAME"
    excluded: str | None = None  # why no check can or should exist
    # For a history check: kinds of its witnesses that break the sentence of another row, and that row.
    elsewhere: dict[str, str] = {}
    narrow: bool = False  # its act shows other nouns, but it says nothing of them; of log, if these have rows

    @model_validator(mode="after")
    def _checked_or_excluded(self) -> Self:
        if (self.check is None) == (self.excluded is None):
            raise ValueError(f"{self.id}: give either check or excluded")
        return self

    @property
    def kind(self) -> Kind:
        """The kind of check that decides it."""
        return "excluded" if self.check is None else kind_of(self.check)

    @property
    def item(self) -> str:
        """The item that `busproof check` plays to decide it; empty if there is none (chaos is another run, 0006)."""
        return {"history": HISTORY, "chaos": "", "excluded": ""}.get(self.kind, self.check or "")


@cache
def catalogue(system: str) -> dict[str, Requirement]:
    """All rows of a system by id, in the order of the file. Raises ValueError on a doubled id."""
    text = (resources.files(CONTRACTS[system].package) / "requirements" / f"{system}.toml").read_text(encoding="utf-8")
    rows: dict[str, Requirement] = {}
    for raw in tomllib.loads(text)["requirement"]:
        row = Requirement.model_validate(raw)
        if row.id in rows:
            raise ValueError(f"{row.id} stands twice")
        rows[row.id] = row
    return rows
