"""The duties of a backend. There are two: an SQLite file (`sqlite`), and NATS JetStream (`jetstream`).

A queue keeps the messages of all timelines, each timeline in its own order, and hands them to consumers. To send is to
append: message and record are one thing, so neither can be there without the other (T6).

Names of timelines and submissions are tokens here (`token.encode`).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from refbus.kernel.errors import IdConflict
from refbus.timeline.filters import Filter
from refbus.timeline.message import Draft, Node, Place


class Origin(NamedTuple):
    """Where a fork leaves its parent."""

    parent: str
    at: int


class Branch(NamedTuple):
    """A timeline: where it began, None for a root, and the place of its last message."""

    timeline: str
    origin: Origin | None
    last: Place


class Delivery(NamedTuple):
    """A message in a worker's hands. ack and nak take `token`."""

    node: Node
    token: str
    deliveries: int


def other_content(draft: Draft, origin: Origin | None) -> IdConflict:
    """The error of a message whose identity has other content, and of a fork that began elsewhere."""
    if origin is not None:
        return IdConflict(f"timeline {draft.key.timeline!r:.100} exists, and began elsewhere")
    return IdConflict(f"{draft.subject:.200} was sent with other content")


class Queue(Protocol):
    """One open queue. Threads may share it."""

    def append(self, draft: Draft, origin: Origin | None = None, start: Place | None = None) -> tuple[Node, bool]:
        """Store a message behind the last of its timeline, and chain it. True: it was there, nothing was appended.

        With `origin` and `start` the message begins its timeline: ID_CONFLICT where there is one already, unless it
        began with this very message. ID_CONFLICT, too, where the same identity (subject and nonce) has other content.
        """

    def find(self, subject: str, nonce: str | None = None, wait_s: float = 0) -> Node | None:
        """The message of this identity, once it is there; None: it is not within wait_s of real time."""

    def read(self, timeline: str, after: int, limit: int, submission: str | None = None) -> list[Node]:
        """A timeline's own messages with numbers above `after`, in their order."""

    def branch(self, timeline: str) -> Branch | None:
        """The timeline; None: there is no message of it."""

    def branches(self) -> list[Branch]:
        """All of them, in the order of their tokens."""

    def take(self, wanted: Filter, wait_s: float = 0) -> Delivery | None:
        """The oldest message of the filter's consumer that is in nobody's hands; it is in the caller's now.

        None: there is none within wait_s of real time.
        """

    def ack(self, delivery: str) -> None:
        """The message is done, and never comes again. Raises INVALID_ARGUMENT for a token that is no delivery."""

    def nak(self, delivery: str) -> None:
        """The message is given back, and may be taken at once. Raises INVALID_ARGUMENT for what is no delivery."""

    def extend(self, delivery: str) -> None:
        """The message is the caller's for another ack_wait_ms, if it is still in the caller's hands."""

    def held(self) -> list[dict[str, object]]:
        """The messages in somebody's hands: rows with the consumer."""

    def contradictions(self) -> list[tuple[str, int, str]]:
        """Timeline, number and fault of everything that the store says twice and not alike."""

    def integrity(self) -> str:
        """`ok`, or the faults of the store."""

    def close(self) -> None:
        """Leave it."""
