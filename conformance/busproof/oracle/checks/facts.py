"""The input of the checks, in every system: facts, each a flat row. Spark's schemas and readers derive from them.

A *lane* has an order, or a state, of its own: the whole bus, a topic, an agent's deliveries. Each system says
how its facts are taken from events (`checks/extract`), and which lanes it has. Times are event indexes: `begin` of the
invocation, `end` of its closing event (`NEVER`: none). A column whose type excludes None must be there: an answer
that lacks it is malformed.
"""

from __future__ import annotations

from typing import Any

import msgspec

CHAIN = "chain of "  # and a lane: the lane of its links
NO_DUMP = "the history has no final dump"


class Fact(msgspec.Struct, gc=False, array_like=True, tag=True):
    """One row. A struct of msgspec, because a history has millions of them."""


class Appended(Fact):
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
    is_new: bool  # it is no retry: its sender gave it neither, or was told so
    expires_ms: int | None  # None: it does not, or nobody knows
    since: int | None = None  # an earlier attempt that nobody answered began here
    newest: int | None = None  # the greatest seq of its lane that had been told when it, or that one, began
    channel: str | None = None  # the channel that it was sent to, where there are channels
    shown: int | None = None  # an answer of late that had shown it before this attempt began
    below: int | None = None  # the greatest seq told of those before it in its batch, which is appended in its order

    @property
    def message(self) -> str | None:
        """The name that two attempts at one message share."""
        return self.id if self.name is None else self.name


class Stored(Fact):
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


class Read(Fact):
    """An answered poll, sync or receive."""

    lane: str
    reader: str
    begin: int
    end: int
    rows: int
    limit: int
    after: int | None  # the cursor that it was answered
    is_moving: bool  # it moves the cursor over the messages that it returns
    ack_through: int | None
    with_own: bool  # it may return the reader's own messages
    before: int | None = None  # the furthest that the reader's cursor can have been before it; None: nobody knows
    least: int | None = None  # of the seqs that it returned
    most: int | None = None
    newest: int | None = None  # of the messages to its reader or to all, as in Appended
    acked: int | None = None  # the furthest that its reader had been told to have acknowledged when it began
    start: int | None = None  # it shows the messages above this; None if it shows nothing
    upto: int | None = None  # and not above this
    joined: int | None = None  # `upto` of the reader's last answer that showed anything
    is_all: bool = False  # it says that nothing is left, so it is held as one with room
    channels: str | None = None  # the channels that it shows, as a list in JSON; None: all


class Delivered(Fact):
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
    lane: str | None = None  # of its read, like the reader and `with_own`
    reader: str | None = None
    with_own: bool = True
    prev: int | None = None  # the seq that stands before it in the answer, or the cursor; None: nobody knows
    prev_priority: int | None = None
    prev_sent_at: str | None = None
    begin: int | None = None  # of its read


class Jump(Fact):
    """A move of a cursor, certain or possible, other than by acknowledgements and answered reads.

    `seq` is the target; None if nobody knows. A jump that is not `is_back` can only have passed messages it returned.
    """

    lane: str
    reader: str
    begin: int
    end: int
    seq: int | None
    is_back: bool


class Acked(Fact):
    """An acknowledgement; `answer` is the cursor that the bus told."""

    lane: str
    reader: str
    begin: int
    end: int
    outcome: str
    seq: int
    answer: int | None
    acked: int | None = None  # as in Read


class Position(Fact):
    """A reader's cursor in the final state."""

    lane: str
    reader: str
    seq: int


class Hold(Fact):
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
    due_ms: int | None = None  # the lease must run until then at least; None: nobody knows


class Failed(Fact):
    """A completion with an error that was not certainly refused; `is_counted`: the bus took it for a failure."""

    lane: str
    key: str
    begin: int
    is_counted: bool


class Redriven(Fact):
    """A key that was put back: its deliveries begin anew."""

    key: str


class Exported(Fact):
    """One line of the last export."""

    place: int
    seq: int
    prev: int | None = None  # the seq of the line before it


class Export(Fact):
    """The last look at the export, if there was one. torn: it holds something that is not a whole line."""

    at: int
    torn: bool


class Reached(Fact):
    """An export was answered that it holds the log up to `seq`."""

    begin: int
    end: int
    seq: int
    told: int | None = None  # the furthest of those that had ended when it began; of the distant past it may be more


class Content(Fact):
    """The content of a message, or of a link of a hash chain, as it was sent, shown to a reader, or stood in a state.

    If it was shown before, it may be left out.

    `digest`: None if nobody knows what its sender wrote.
    """

    lane: str
    message: str  # as in Appended
    end: int
    is_sent: bool
    digest: int | None


class Malformed(Fact):
    """An answer, or a row of a state, with something else where a fact's column belongs."""

    event: int


class About(Fact):
    """One row about the whole history."""

    is_whole: bool
    dump_at: int | None  # the event of the final state
    newest_ms: int | None  # the latest time of the bus
    lines: int = 0
    damage: str = ""  # the reason that nothing can be said of it
    source: str = ""  # the files that it was taken from, as JSON
    counts: str = ""  # of the other streams' rows once they are written, as JSON
    format: int | None = None  # of the streams; it grows with the contents of facts
    clocks: str = ""  # how those of its hosts stand, if there are several

    @property
    def unknown_because(self) -> str:
        """Why no verdict can be valid."""
        return "" if self.is_whole else "the history has no footer: it was cut"

    @property
    def no_dump(self) -> str:
        """Why a check that needs the final state has no answer."""
        return "" if self.dump_at is not None else NO_DUMP


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
    "reached": Reached,
    "contents": Content,
    "malformed": Malformed,
    "about": About,
}


class Facts(msgspec.Struct):
    """All of a history that the checks look at: a list for each kind of fact."""

    appended: list[Appended] = msgspec.field(default_factory=list)
    stored: list[Stored] = msgspec.field(default_factory=list)
    reads: list[Read] = msgspec.field(default_factory=list)
    delivered: list[Delivered] = msgspec.field(default_factory=list)
    jumps: list[Jump] = msgspec.field(default_factory=list)
    acked: list[Acked] = msgspec.field(default_factory=list)
    positions: list[Position] = msgspec.field(default_factory=list)
    holds: list[Hold] = msgspec.field(default_factory=list)
    failed: list[Failed] = msgspec.field(default_factory=list)
    redriven: list[Redriven] = msgspec.field(default_factory=list)
    exported: list[Exported] = msgspec.field(default_factory=list)
    exports: list[Export] = msgspec.field(default_factory=list)
    reached: list[Reached] = msgspec.field(default_factory=list)
    contents: list[Content] = msgspec.field(default_factory=list)
    malformed: list[Malformed] = msgspec.field(default_factory=list)
    about: list[About] = msgspec.field(default_factory=lambda: [About(True, None, None)])

    @property
    def known(self) -> About:
        """Its one row."""
        return self.about[0]

    @property
    def dump_at(self) -> int | None:
        """The event of the final state."""
        return self.known.dump_at

    def answers(self) -> dict[int, list[Delivered]]:
        """The messages of each read, in their order, by its end; those of a malformed read are left out."""
        by_end: dict[int, list[Delivered]] = {read.end: [] for read in self.reads}
        for row in sorted(self.delivered, key=lambda row: (row.end, row.place)):
            if row.end in by_end:
                by_end[row.end].append(row)
        return by_end

    def add(self, *facts: Any) -> None:
        """Put each in its stream."""
        for fact in facts:
            getattr(self, STREAM[type(fact)]).append(fact)

    def restart(self, *streams: str) -> None:
        """Forget the facts of an earlier state."""
        for stream in streams:
            getattr(self, stream).clear()


STREAM = {fact: stream for stream, fact in FACTS.items()}
