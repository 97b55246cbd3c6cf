"""What checks look at, in every system: facts, each a flat row. Spark's schemas and readers derive from them.

A *lane* is what has an order, or a state, of its own: the whole bus, a topic, an agent's deliveries. Each system says
how its facts are taken from events (`checks/extract`), and what its lanes are. Times are event indexes: `begin` of the
invocation, `end` of what closed it (`NEVER`: nothing did). A column whose type excludes None must be there: an answer
that lacks it is malformed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Appended:
    """One attempt to append one message.

    A message is known by the `name` that its sender gave it, where the bus gives another `id`; else by its id. id and
    seq are None where nobody was told.
    """

    lane: str
    begin: int
    end: int
    outcome: str
    name: str | None
    id: str | None
    seq: int | None
    sender: str | None
    addressee: str | None
    is_new: bool  # its sender gave it neither: it is no retry of another
    expires_ms: int | None  # None: it does not, or nobody knows

    @property
    def message(self) -> str | None:
        """What makes two attempts one message."""
        return self.id if self.name is None else self.name


@dataclass(frozen=True, slots=True)
class Stored:
    """A message of the final state."""

    lane: str
    name: str | None
    id: str
    seq: int | None
    sender: str | None
    addressee: str | None
    is_own: bool  # the bus itself appends such messages
    is_dead: bool  # it stands among the dead letters

    @property
    def message(self) -> str:
        """As in Appended."""
        return self.id if self.name is None else self.name


@dataclass(frozen=True, slots=True)
class Read:
    """An answered poll, sync or receive."""

    lane: str
    reader: str
    begin: int
    end: int
    rows: int
    limit: int
    after: int | None  # the cursor that it was answered
    is_moving: bool  # it moves the cursor over what it returns
    ack_through: int | None
    with_own: bool  # it may return the reader's own messages


@dataclass(frozen=True, slots=True)
class Delivered:
    """One message of a read, which is known by its end; `place` counts from 0."""

    end: int
    place: int
    id: str | None
    seq: int | None
    sender: str | None
    addressee: str | None
    is_asked: bool  # its channel is one that was asked for
    priority: int | None
    sent_at: str | None


@dataclass(frozen=True, slots=True)
class Jump:
    """What moves a cursor, or may have, beside acknowledgements and answered reads.

    `seq` is where to; None if nobody knows. One that is not `is_back` can only have gone over what it returned.
    """

    lane: str
    reader: str
    begin: int
    end: int
    seq: int | None
    is_back: bool


@dataclass(frozen=True, slots=True)
class Acked:
    """An acknowledgement; `answer` is the cursor that the bus told."""

    lane: str
    reader: str
    begin: int
    end: int
    outcome: str
    seq: int
    answer: int | None


@dataclass(frozen=True, slots=True)
class Position:
    """A reader's cursor in the final state."""

    lane: str
    reader: str
    seq: int


@dataclass(frozen=True, slots=True)
class Hold:
    """A claim, renewal or release of `key`. The time of the bus was between `at_ms_min` and `at_ms`."""

    lane: str
    begin: int
    end: int
    outcome: str
    op: str  # claim, renew, release
    key: str
    holder: str
    granted: bool | None
    token: int | None
    until_ms: int | None
    at_ms_min: int
    at_ms: int
    is_final: bool  # a release after which there is nothing left to claim


@dataclass(frozen=True, slots=True)
class Failed:
    """A completion with an error that was not certainly refused; `is_counted`: the bus took it for a failure."""

    lane: str
    key: str
    begin: int
    is_counted: bool


@dataclass(frozen=True, slots=True)
class Redriven:
    """A key that was put back: its deliveries begin anew."""

    key: str


@dataclass(frozen=True, slots=True)
class Exported:
    """One line of the last export."""

    place: int
    seq: int


@dataclass(frozen=True, slots=True)
class Export:
    """The last look at the export, if there was one. torn: it holds something that is not a whole line."""

    at: int
    torn: bool


@dataclass(frozen=True, slots=True)
class Malformed:
    """An answer, or a row of a state, with something else where a fact's column belongs."""

    event: int


@dataclass(frozen=True, slots=True)
class About:
    """One row about the whole history."""

    is_whole: bool
    dump_at: int | None  # the event of the final state
    newest_ms: int | None  # the latest time of the bus
    lines: int = 0

    @property
    def unknown_because(self) -> str:
        """Why no verdict can be valid."""
        return "" if self.is_whole else "the history has no footer: it was cut"

    @property
    def no_dump(self) -> str:
        """Why what needs the final state cannot be told."""
        return "" if self.dump_at is not None else "the history has no final dump"


# stream → the fact whose rows it holds; in this order in Parquet folders, frames and `Facts`
FACTS: dict[str, type] = {
    "appended": Appended,
    "stored": Stored,
    "reads": Read,
    "delivered": Delivered,
    "jumps": Jump,
    "acked": Acked,
    "positions": Position,
    "holds": Hold,
    "failed": Failed,
    "redriven": Redriven,
    "exported": Exported,
    "exports": Export,
    "malformed": Malformed,
    "about": About,
}


@dataclass
class Facts:
    """All of a history that the checks look at: a list for each kind of fact."""

    appended: list[Appended] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    delivered: list[Delivered] = field(default_factory=list)
    jumps: list[Jump] = field(default_factory=list)
    acked: list[Acked] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    redriven: list[Redriven] = field(default_factory=list)
    exported: list[Exported] = field(default_factory=list)
    exports: list[Export] = field(default_factory=list)
    malformed: list[Malformed] = field(default_factory=list)
    about: list[About] = field(default_factory=lambda: [About(True, None, None)])

    @property
    def known(self) -> About:
        """Its one row."""
        return self.about[0]

    @property
    def dump_at(self) -> int | None:
        """The event of the final state."""
        return self.known.dump_at

    def answers(self) -> dict[int, list[Delivered]]:
        """The messages of each read, in their order, by its end."""
        found: dict[int, list[Delivered]] = {read.end: [] for read in self.reads}
        for row in sorted(self.delivered, key=lambda row: (row.end, row.place)):
            found[row.end].append(row)
        return found

    def add(self, *facts: Any) -> None:
        """Put each where it belongs."""
        for fact in facts:
            getattr(self, _STREAM[type(fact)]).append(fact)


_STREAM = {fact: stream for stream, fact in FACTS.items()}
