"""Facts know what came before them: a read its reader's cursor, a delivered message the one before it.

Histories come in the order of time, so this costs a few numbers for each reader, and saves every engine a search. An
engine that looks at one fact alone can tell whether it follows what was there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from busproof.checks.facts import Acked, Appended, Delivered, Exported, Fact, Jump, Read
from busproof.history import Event

Reader = tuple[str, str]  # lane, reader


class Following:
    """What is known of each reader so far, and of attempts that nobody answered."""

    def __init__(self, asks: frozenset[str]) -> None:
        self._asks = asks
        self._cursors: dict[Reader, int] = {}
        self._asking: dict[str, dict[int, int]] = defaultdict(dict)  # reader → process → seq
        self._lost: set[Reader] = set()
        self._unanswered: dict[tuple[str, str], int] = {}
        self._line: int | None = None

    def see(self, event: Event) -> None:
        """A call that asks to move a cursor: it may move from now on."""
        asking = self._asking[event.agent or ""]
        if event.type == "invoke" and event.seq is not None:
            asking[event.process] = event.seq
        elif event.type != "invoke":
            asking.pop(event.process, None)

    def restart(self) -> None:
        """A state begins."""
        self._line = None

    def of_call(self, facts: Iterable[Fact]) -> Iterator[Fact]:
        """The facts of one call; a read comes after what it delivered."""
        read, last = None, None
        for fact in facts:
            kind = type(fact)
            if kind is Read:
                read, last = self._begun(fact), None  # type: ignore[arg-type]
                continue
            if kind is Delivered and read is not None:
                last = _placed(fact, read, last)  # type: ignore[arg-type]
            elif kind is Appended:
                self._attempted(fact)  # type: ignore[arg-type]
            elif kind is Acked:
                self._acked(fact)  # type: ignore[arg-type]
            elif kind is Jump:
                self._jumped(fact)  # type: ignore[arg-type]
            yield fact
        if read is not None:
            yield read

    def _begun(self, read: Read) -> Read:
        reader = (read.lane, read.reader)
        if reader not in self._lost:
            asked = self._asking.get(read.reader)
            read.before = max(self._cursors.get(reader, 0), read.ack_through or 0, *(asked or {}).values())
        if read.after is not None:
            self._cursors[reader] = read.after
        return read

    def _attempted(self, one: Appended) -> None:
        message = one.message
        if message is None or one.outcome == "fail":
            return
        if one.outcome == "info":
            self._unanswered.setdefault((one.lane, message), one.begin)
        elif self._unanswered:
            one.since = self._unanswered.get((one.lane, message))

    def _acked(self, one: Acked) -> None:
        if one.outcome != "fail":
            reader = (one.lane, one.reader)
            self._cursors[reader] = max(one.seq, self._cursors.get(reader, 0))

    def _jumped(self, jump: Jump) -> None:
        reader = (jump.lane, jump.reader)
        if jump.is_back and jump.seq is not None:
            self._cursors[reader] = jump.seq
        elif jump.is_back or self._asks:  # where acks alone move it, any other move is one to nobody knows where
            self._lost.add(reader)

    def of_row(self, fact: Fact) -> Fact:
        """The fact of one row of a state."""
        if type(fact) is Exported:
            fact.prev, self._line = self._line, fact.seq
        return fact


def _placed(row: Delivered, read: Read, last: Delivered | None) -> Delivered:
    row.lane, row.reader, row.with_own = read.lane, read.reader, read.with_own
    if last is not None:
        row.prev, row.prev_priority, row.prev_sent_at = last.seq, last.priority, last.sent_at
    elif read.before is not None and row.seq is not None:
        row.prev = min(read.before, row.seq - 1)
    if row.seq is not None:
        read.least = row.seq if read.least is None else min(read.least, row.seq)
        read.most = row.seq if read.most is None else max(read.most, row.seq)
    return row
