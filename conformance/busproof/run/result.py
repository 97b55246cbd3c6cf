"""A row of the catalogue, decided: one of six outcomes.

pass            every expectation of the row held
fail            a MUST did not hold, or the bus broke a call that must succeed
warn            a SHOULD did not hold; or a RESOLVED one: another choice than the reference's, a dialect
not-applicable  the bus, or the other one of a mixed fleet, does not declare the noun or the feature
could-not-run   nothing was decided: a missing prerequisite, a fault of the kit
inconclusive    it ran, and the history does not decide it
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from busproof.bus.base import Lost, Malformed, Refused
from busproof.contract.catalogue import Requirement
from busproof.words import kit_failed

Outcome = Literal["pass", "fail", "warn", "not-applicable", "could-not-run", "inconclusive"]

WORST_FIRST: tuple[Outcome, ...] = ("fail", "could-not-run", "inconclusive", "warn", "pass", "not-applicable")
NOT_REACHED = "no script of the corpus reached it"
NO_END = "did not come to an end"  # an item, whose process ended or was ended before it
BUDGET_SPENT = "the time of --budget was over before it was decided"


def a_clock(spec: str) -> str:
    """The clock that a bus lacks. From outside it can be set where the kit itself starts one program for a session."""
    or_from_outside = "; or --clock faketime, docs/valid.md" if spec.startswith(("exec:", "mcp:")) else ""
    return f"a clock that the kit can set (hello: clock manual{or_from_outside})"


class RowResult(BaseModel):
    """One row, decided on one fleet. `events` are the offending operations, `script` the calls that show them."""

    requirement: str
    outcome: Outcome
    check: str
    fleet: str  # "bus", or "mixed"
    why: str = ""
    cause: str = ""  # what rows of one fault have in common, if that is less than `why`
    again: str = ""  # the command that shows it again, if its check alone does not tell
    step: str = ""  # the first step to take
    steps: int = 0  # of the script of the corpus that shows it
    held: int = 0  # in how many scripts of the corpus it held
    events: list[dict[str, Any]] = []
    script: list[dict[str, Any]] = []
    left_out: dict[str, int] = {}  # of the corpus: how many calls of each method this bus was not sent
    calls: int = 0  # and of how many in all
    not_played: int = 0  # scripts of the corpus, as enough had broken
    undecided: int = 0  # races of the corpus that could not be judged


def decided(row: Requirement, outcome: Outcome, why: str = "", fleet: str = "", **more: Any) -> RowResult:
    return RowResult(requirement=row.id, outcome=outcome, check=row.check or "", fleet=fleet, why=why, **more)


def if_broken(row: Requirement) -> Outcome:
    return "fail" if row.level == "MUST" else "warn"


def what_ended_it(error: Exception) -> tuple[Outcome, str]:
    """The outcome of a script that broke, and why."""
    if isinstance(error, Refused) and error.rpc == -32601:
        return "fail", f"a method of a declared noun is not supported: {error.message}"
    if isinstance(error, Refused):
        return "fail", f"a call that must succeed was refused with {error}"
    if isinstance(error, Malformed):
        return "fail", str(error)
    if isinstance(error, Lost):
        return "fail", f"the bus did not answer: {error}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    if isinstance(error, (LookupError, TypeError, AttributeError)):
        what = f"{type(error).__name__}: {error}"
        return "could-not-run", f"the script needs an answer of another shape than came, at {where} ({what})"
    return "could-not-run", kit_failed(error)
