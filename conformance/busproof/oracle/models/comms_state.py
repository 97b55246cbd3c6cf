"""The content of a `comms` store, as the specification sees it. Times are microseconds since 1970 (`_us`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from busproof.oracle.models.comms_values import is_uuid
from busproof.oracle.models.parts import text_of, us_of
from busproof.oracle.models.spec import Free, plain

LONGEST_US = 60 * 60 * 1_000_000  # of any retry delay: a message that is not back by then is gone
JITTERS = 5  # if so many in a row are equal, the bus does not spread them


class AnyUuid(Free):
    """An id of the bus's choice: a UUID."""

    def fits(self, value: Any) -> bool:
        """Of any version, written in the usual form."""
        return is_uuid(value)


class Due(Free):
    """The moment when a failed message is due again: the bus chooses the jitter. Bound to a text, from a dump."""

    def __init__(self, name: str, at_us: int, delay_us: int, others: list[Due]) -> None:
        super().__init__(name)
        self.at_us, self.delay_us, self.others = at_us, delay_us, others
        self.low_us, self.high_us = at_us + delay_us // 2, at_us + delay_us * 3 // 2

    def fits(self, value: Any) -> bool:
        """Between the earliest and the latest, and not the same share of the delay time after time."""
        due_us = us_of(value)
        if due_us is None or not self.low_us <= due_us <= self.high_us:
            return False
        before = {due.share() for due in self.others[-JITTERS:] if due.value is not None}
        return len(self.others) < JITTERS or before != {(due_us - self.at_us) / self.delay_us}

    def share(self) -> float:
        """The jitter."""
        return (self.low_us - self.at_us) / self.delay_us

    def __repr__(self) -> str:
        return f"<{text_of(self.low_us)} to {text_of(self.high_us)}, and not always the same>"

    def takes(self, value: Any) -> bool:
        """Narrows to the one moment."""
        if not super().takes(value):
            return False
        self.low_us = self.high_us = us_of(value) or 0
        return True


class AnyDue(Due):
    """The same of a bus with a delay of its own: some time from now on."""

    def __init__(self, name: str, at_us: int) -> None:
        super().__init__(name, at_us, 1, [])
        self.low_us, self.high_us = at_us, at_us + LONGEST_US


@dataclass
class Delivery:
    """One agent's dealings with one message."""

    status: str = "pending"  # processing, failed, done, dead
    count: int = 0
    failures: int = 0
    due: int | Due = 0  # in µs: when a claim runs out, or a retry delay
    error: str | None = None
    is_strangers: bool = False  # claimed by the seed's tables alone, which do not show deliveries
    was_due: bool | None = False  # None: a call has seen it due again, and may have kept it as pending; True: it has

    def there(self, now_us: int) -> bool | None:
        """Can it be claimed? None: the jitter decides, or the status that the bus keeps once its clock is set back."""
        if self.status in ("done", "dead"):
            return False
        is_due = self.is_due(now_us)
        return is_due or (is_due if self.was_due is False else self.was_due)

    def is_due(self, now_us: int) -> bool | None:
        """Is its time over by the clock alone? None: the jitter decides."""
        if isinstance(self.due, Due):
            return True if now_us >= self.due.high_us else False if now_us < self.due.low_us else None
        return now_us >= self.due

    def kept(self) -> str:
        """The status, unless somebody has looked since it was due again: a bus may then keep it as pending, or not."""
        if self.status == "pending" and self.count:
            return "processing" if self.error is None else "failed"
        return self.status

    def waits_unseen(self, now_us: int) -> bool:
        """Some call looks, with this clock: may a later call be the first to see it due again?"""
        if not (self.count or self.is_strangers) or self.status in ("done", "dead"):
            return False
        if self.was_due is False and self.there(now_us):
            self.was_due = None
        return self.was_due is False

    def shows(self, there: bool, now_us: int) -> None:
        """An observation narrows the moment."""
        if self.was_due is None:
            self.was_due = there
        elif isinstance(self.due, Due):
            if there:
                self.due.high_us = min(self.due.high_us, now_us)
            else:
                self.due.low_us = max(self.due.low_us, now_us + 1)


@dataclass
class Message:
    """A row of `messages`, and its deliveries by agent."""

    id: Any
    type: str
    at_us: int
    correlation_id: Any
    sender: str
    to: str | None
    channel: str
    priority: int
    payload: Any
    created_us: int = 0
    expires_us: int | None = None
    claimed_us: int | None = None
    is_spoiled: bool = False  # its payload differs from its sender's
    rows: dict[str, str] = field(default_factory=dict)  # of members that no sender chose: an answer's
    deliveries: dict[str, Delivery] = field(default_factory=dict)

    def of(self, agent: str) -> Delivery:
        """The agent's delivery."""
        return self.deliveries.setdefault(agent, Delivery())

    def is_for(self, agent: str) -> bool:
        """Its addressee's, or everybody's (C3, C4)."""
        return self.to in (None, agent)

    def is_expired(self, now_us: int) -> bool:
        """Past its time to live, which ends at exactly that moment."""
        return self.expires_us is not None and self.expires_us <= now_us

    def content(self) -> tuple[Any, ...]:
        """The fields that a retry must repeat (C16)."""
        return self.sender, self.to, self.type, plain(self.correlation_id), self.channel, self.priority, self.payload


@dataclass
class Agent:
    """A row of `agent_status`, without the pending messages."""

    status: str | None = None  # never said
    task: str | None = None
    beat_us: int = 0
    done: int = 0
    failures: int = 0
    dead: int = 0  # messages that failed for good
    has_broadcasts: bool = False  # among them: the seed does not know who completes one, so it may count for nobody


@dataclass
class Vote:
    """An open or closed vote."""

    id: Any
    options: list[str]
    deadline_us: int
    casts: dict[str, str] = field(default_factory=dict)


@dataclass
class Letter:
    """A dead letter: one agent's third failure with one message."""

    id: Any
    message: Message
    agent: str
    error: str
    moved_us: int
    retries: int
    lacks: tuple[str, ...] = ()  # members of the message that damage took away


class Event(NamedTuple):
    """An entry that the audit trail must have."""

    kind: str
    at_us: int
    agent: str | None
    about: Any  # a message's id, or an artifact's path
