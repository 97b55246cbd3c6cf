"""Parts of the model of `mailbox`: what it keeps, and answers that are compared in a way of their own."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from busproof.oracle.models.parts import bare
from busproof.oracle.models.spec import Difference, Free, Part, differs, held, plain
from busproof.words import as_json

TOO_MANY = ("mailbox.cursor.01",)  # a message of this inbox that may be shown, and not in this answer


class OwnId(Free):
    """A text that is nobody else's id."""

    def __init__(self, name: str, others: list[Free]) -> None:
        super().__init__(name)
        self.others = others

    def fits(self, value: Any) -> bool:
        return type(value) is str and value != "" and all(other.value != value for other in self.others)

    def takes(self, value: Any) -> bool:
        """As any. Once bound, it lets go of the others: a state is copied often."""
        is_it = super().takes(value)
        if self.value is not None:
            self.others = []
        return is_it


class Unspent(Free):
    """A base: any value, and none that a send was accepted on."""

    def __init__(self, name: str, spent: list[Any]) -> None:
        super().__init__(name)
        self.spent = spent

    def fits(self, value: Any) -> bool:
        return value is not None and all(plain(other) != value for other in self.spent)


@dataclass
class Message:
    """A message as it was sent. `content` is all that a send again must have alike."""

    sender: str
    content: dict[str, Any]
    key: str | None
    at_ms: int
    id: Any = None
    n: Any = None

    @property
    def priority(self) -> int:
        """Absent is 0."""
        return int(self.content.get("priority", 0))


@dataclass(eq=False)
class Entry:
    """A message in an inbox, by its number among all, and what became of it."""

    message: int
    is_shown: bool = False
    is_acked: bool = False
    was_named: bool = False  # in an ack by another agent
    is_late: bool = False  # a broadcast that was sent before this agent came


@dataclass(eq=False)
class Job:
    """A job. until_ms: it is in somebody's hands until then; None: nobody has it."""

    id: Any
    body: str
    taker: str = ""
    until_ms: int | None = None
    taken: int = 0
    is_done: bool = False
    was_given_back: bool = False
    handle: Any = None  # its id, as the last take told it
    receipt: Any = None


@dataclass(frozen=True)
class Inbox(Part):
    """The messages of an answer: all that must be there, each once, and nothing else.

    `lanes` has the priority and the sender of each: those of one priority and one sender stand in this order, with
    `arrival` those of one priority. `others` and `lost` are the sentences that are broken where a message is there that
    must not be, and where one is missing, by id.
    """

    value: list[dict[str, Any]]
    lanes: list[tuple[int, str]]
    others: Mapping[Any, tuple[str, ...]]
    lost: Mapping[Any, tuple[str, ...]]
    arrival: bool = False

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """A wrong message first, then a missing one, then the order, then what each says."""
        if not isinstance(actual, list) or not all(
            isinstance(row, dict) and type(row.get("id")) is str for row in actual
        ):
            return Difference(path, "a list of messages", as_json(actual)[:300], rows)
        seen = [row["id"] for row in actual]
        wanted = {self._id(place, seen): place for place in range(len(self.value))}
        strange = [at for at, id_ in enumerate(seen) if id_ not in wanted]
        of_others = [at for at in strange if self.others.get(seen[at]) != TOO_MANY]
        is_seen = set(seen)
        missing = [place for id_, place in wanted.items() if id_ not in is_seen]
        for at in of_others or ([] if missing else strange):
            broken = self.others.get(seen[at]) or self._of_nobody(actual[at], seen)
            return Difference(f"{path}[{at}]", "no such message", as_json(actual[at])[:400], broken)
        for place in missing:
            id_ = bare(self.value[place]["id"])
            without = f"a list without it: {seen!s:.300}"
            return Difference(path, as_json(self.value[place])[:400], without, self.lost.get(id_, rows))
        if len(is_seen) < len(seen):
            at, id_ = next((at, id_) for at, id_ in enumerate(seen) if id_ in seen[:at])
            return Difference(f"{path}[{at}]", "each message once", f"{id_} twice", ("mailbox.log.01",))
        return self._in_order(actual, seen, wanted, path) or self._whole(actual, wanted, path, rows)

    def _of_nobody(self, shown: dict[str, Any], seen: list[str]) -> tuple[str, ...]:
        """Is it a message that is missing, under another id? Else nobody sent it."""
        missing = [bare(expected["body"]) for expected in self.value if bare(expected["id"]) not in seen]
        return ("mailbox.log.03",) if shown.get("body") in missing else ("mailbox.log.04",)

    def _id(self, place: int, seen: list[str]) -> Any:
        """The id that this message must have; of one whose send was not answered, the one in its place."""
        known = bare(self.value[place]["id"])
        return known if known is not None or place >= len(seen) else seen[place]

    def _in_order(self, actual: Any, seen: list[str], wanted: dict[Any, int], path: str) -> Difference | None:
        if all(wanted[before] < wanted[behind] for before, behind in itertools.pairwise(seen)):
            return None
        for at, id_ in enumerate(seen):
            later = [place for place in (wanted[other] for other in seen[:at]) if place > wanted[id_]]
            broken = {row: place for place in later if (row := self._order(wanted[id_], place))}
            if broken:
                row = min(broken)
                before = as_json(self.value[broken[row]])
                return Difference(f"{path}[{at}]", f"it before {before:.200}", "behind that", (row,))
        return None

    def _order(self, place: int, later: int) -> str:
        """The sentence that has one of these messages before the other; none may have."""
        (priority, sender), (others_priority, other) = self.lanes[place], self.lanes[later]
        if priority != others_priority:
            return "mailbox.cursor.12"
        return "mailbox.cursor.01" if sender == other else "mailbox.cursor.03" if self.arrival else ""

    def _whole(self, actual: Any, wanted: dict[Any, int], path: str, rows: tuple[str, ...]) -> Difference | None:
        each = (differs(self.value[wanted[row["id"]]], row, f"{path}[{at}]", rows) for at, row in enumerate(actual))
        return next((difference for difference in each if difference), None)

    def held(self, actual: Any, rows: set[str]) -> None:
        """What its messages show."""
        shown = {row["id"]: row for row in actual}
        for expected in self.value:
            if (row := shown.get(bare(expected["id"]))) is not None:
                held(expected, row, rows)
        if actual:
            rows.update(("mailbox.log.01", "mailbox.cursor.02"))
        rows.update(row for place in range(1, len(actual)) if (row := self._order(place - 1, place)))

    def __repr__(self) -> str:
        return as_json(self.value)


@dataclass(frozen=True)
class Handed(Part):
    """The answer of take: one of the candidates, which it is in the taker's hands from now on; null if there is none.

    The comparison changes the model: which job it was is the bus's choice.
    """

    candidates: list[Job]
    jobs: list[Job]
    dead: list[Job]
    taker: str
    until_ms: int
    handle: Free
    receipt: Free
    has_attempts: bool

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """Which job is it, and may it be?"""
        if actual is None:
            if not self.candidates:
                return None
            broken = ("mailbox.jobs.06",) if self.candidates[0].was_given_back else rows
            return Difference(path, f"one of {[job.body for job in self.candidates]!s:.300}", "null", broken)
        if not isinstance(actual, dict):
            return Difference(path, "a job or null", as_json(actual)[:300], rows)
        job = next((job for job in self.jobs if plain(job.id) == actual.get("id")), None)
        if job not in self.candidates:
            return Difference(path, self._wanted(), as_json(actual)[:300], self._broken(job))
        assert job is not None
        expected: dict[str, Any] = {"body": job.body}
        if self.has_attempts:
            expected["attempt"] = job.taken + 1
        if wrong := differs(expected, actual, path, ("mailbox.jobs.05",) if "attempt" in expected else rows):
            is_body = wrong.path.endswith("body")
            return Difference(wrong.path, wrong.expected, wrong.actual, ("mailbox.jobs.01",) if is_body else wrong.rows)
        self.handle.takes(actual["id"])
        self.receipt.takes(actual.get("receipt") or actual["id"])
        job.taker, job.until_ms, job.taken, job.was_given_back = self.taker, self.until_ms, job.taken + 1, False
        job.handle, job.receipt = self.handle, self.receipt
        return None

    def _wanted(self) -> str:
        return f"one of {[job.body for job in self.candidates]!s:.300}" if self.candidates else "null"

    def _broken(self, job: Job | None) -> tuple[str, ...]:
        """The sentence that this job breaks."""
        if job is None:
            return ("mailbox.jobs.01",)
        if job.is_done:
            return ("mailbox.jobs.03",)
        if job.taken == 0:
            return ("mailbox.jobs.08",)
        if job in self.dead:
            return ("mailbox.jobs.07",)
        return ("mailbox.jobs.02",)

    def __repr__(self) -> str:
        return self._wanted()
