"""Facts know the state before them: a read its reader's cursor, a message the seq that was told before it was sent.

Histories come in the order of time, so this costs a few numbers for each reader and lane, and saves every engine a
search. An engine that looks at one fact alone can tell whether it follows the facts before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator

from busproof.oracle.checks.extract.entries import Asked
from busproof.oracle.checks.facts import Acked, Appended, Content, Delivered, Exported, Fact, Hold, Jump, Reached, Read

Reader = tuple[str, str]  # lane, reader
RAISES_KEPT = 100
MESSAGES_KEPT = 100_000  # that were shown of late


class Following:
    """The knowledge of each reader so far, and of attempts that nobody answered."""

    def __init__(self, asks: frozenset[str], *, names_claims: bool = False) -> None:
        self._asks, self._names_claims = asks, names_claims
        self._cursors: dict[Reader, int] = {}
        self._asking: dict[str, dict[int, int]] = defaultdict(dict)  # reader → process → seq
        self._askers: dict[int, str] = {}  # process → reader
        self._lost: set[Reader] = set()
        self._unanswered: dict[tuple[str, str], tuple[int, int | None]] = {}  # message → begin, newest by then
        self._in_lane, self._to, self._acks = _Raised(), _Raised(), _Raised()  # told so far, by lane, by addressee
        self._spans: dict[tuple[str, str, bool], int] = {}  # how far a reader was shown, with its own or without
        self._exports = _Raised()
        self._line: int | None = None
        self._seen: dict[tuple[str, str | None], int] = {}  # message → the first answer of late that showed it
        self._seen_before: dict[tuple[str, str | None], int] = {}
        self._hands: dict[str, tuple[str, str]] = {}  # claims that others name by their holder alone → lane, key
        self._forgot = -1  # at which event the claims began anew
        self._kept: set[Hashable] | None = None  # the readers from whom no clearing could take anything; None: all

    def cleared(self) -> None:
        """Messages may be gone from here on, though not from readers that have acknowledged something."""
        if self._kept is None:
            self._kept = self._acks.keys()

    def forgot(self, index: int) -> None:
        """Claims begin anew, in lanes of their own."""
        self._forgot = index

    def see(self, asked: Asked) -> None:
        """A call that asks to move a cursor: it may move from now on."""
        process = asked.process
        self._asking[self._askers.pop(process, "")].pop(process, None)
        if asked.seq is not None:
            self._askers[process] = asked.agent
            self._asking[asked.agent][process] = asked.seq

    def restart(self) -> None:
        """A state begins."""
        self._line = None

    def of_call(self, facts: Iterable[Fact]) -> Iterator[Fact]:
        """The facts of one call; messages come after the read that delivered them."""
        before = None
        for fact in facts:
            kind = type(fact)
            if kind is Content:
                pass
            elif kind is Read:
                yield from self._newcomer(fact)  # type: ignore[arg-type]
                before = self._begun(fact)  # type: ignore[arg-type]
                self._shown(fact)  # type: ignore[arg-type]
            elif kind is Delivered:
                if fact.place == 0 and before is not None and fact.seq is not None:  # type: ignore[attr-defined]
                    fact.prev = min(before, fact.seq - 1)  # type: ignore[attr-defined]
                self._see_message(fact)  # type: ignore[arg-type]
            elif kind is Appended:
                self._attempted(fact)  # type: ignore[arg-type]
            elif kind is Acked:
                self._acked(fact)  # type: ignore[arg-type]
            elif kind is Jump:
                self._jumped(fact)  # type: ignore[arg-type]
            elif kind is Reached:
                fact.told = self._exports.by("", fact.begin)  # type: ignore[attr-defined]
                self._exports.raise_to("", fact.end, fact.seq)  # type: ignore[attr-defined]
            elif kind is Hold and self._names_claims and not self._found(fact):  # type: ignore[arg-type]
                continue
            yield fact

    def _newcomer(self, read: Read) -> Iterator[Jump]:
        """Nobody knows where the log begins for a reader from whom a clearing could take messages."""
        reader = (read.lane, read.reader)
        if self._kept is not None and reader not in self._kept:
            self._kept.add(reader)  # it is told once
            self._lost.add(reader)
            yield Jump(*reader, read.begin, read.end, None, is_back=False)

    def _begun(self, read: Read) -> int | None:
        reader = (read.lane, read.reader)
        if reader not in self._lost:
            asked = self._asking.get(read.reader)
            read.before = max(self._cursors.get(reader, 0), read.ack_through or 0, *(asked or {}).values())
        if read.after is not None:
            self._cursors[reader] = read.after
        to_all, to_it = self._to.by((read.lane, None), read.begin), self._to.by(reader, read.begin)
        read.newest = to_it if to_all is None else max(to_all, to_it or 0)
        read.acked = self._acks.by(reader, read.begin)
        return read.before

    def _shown(self, read: Read) -> None:
        """The span that it had to show, and whether it joins the span that its reader had been shown."""
        start, upto = read.before, read.most
        if read.least is not None:
            start = read.least - 1 if start is None else min(start, read.least - 1)
        if read.is_moving and read.after is not None:
            upto = read.after if upto is None else max(upto, read.after)
        if start is None or upto is None or start >= upto:
            return
        read.start, read.upto = start, upto
        chain = (read.lane, read.reader, read.with_own)
        read.joined = self._spans.get(chain)
        self._spans[chain] = read.upto

    def _see_message(self, row: Delivered) -> None:
        # Where each reader has a lane of its own, its messages are sent in another.
        message = message_of(row)
        if message not in self._seen:
            self._seen[message] = row.end
            if len(self._seen) > MESSAGES_KEPT:
                self._seen_before, self._seen = self._seen, {}

    def _attempted(self, sent: Appended) -> None:
        if sent.id is not None:
            of_id = sent.lane, sent.id
            shown = self._seen_before.get(of_id, self._seen.get(of_id))
            sent.shown = shown if shown is not None and shown < sent.begin else None
        sent.newest = self._in_lane.by(sent.lane, sent.begin)
        message = sent.message
        if message is not None and sent.outcome == "info":
            self._unanswered.setdefault((sent.lane, message), (sent.begin, sent.newest))
        elif message is not None and sent.outcome == "ok" and self._unanswered:
            sent.since, sent.newest = self._unanswered.get((sent.lane, message), (None, sent.newest))
        if sent.outcome == "ok" and sent.seq is not None:
            self._in_lane.raise_to(sent.lane, sent.end, sent.seq)
            self._to.raise_to((sent.lane, sent.addressee), sent.end, sent.seq)

    def _found(self, hold: Hold) -> bool:
        """Does anybody know the key? A claim tells it; what ends a claim names the claim.

        Nobody knows on which side of a forgetting a claim was granted that began before and ended behind it.
        """
        if hold.op == "claim":
            is_astride = hold.begin < self._forgot
            hold.lane += f" {self._forgot + 1}" + (f" {hold.begin}" if is_astride else "")
            self._hands[hold.holder] = hold.lane, hold.key
            return True
        if hold.holder not in self._hands:
            return False
        hold.lane, hold.key = self._hands[hold.holder]
        if hold.is_final:
            del self._hands[hold.holder]
        return True

    def _acked(self, ack: Acked) -> None:
        reader = (ack.lane, ack.reader)
        ack.acked = self._acks.by(reader, ack.begin)
        if ack.outcome != "fail":
            self._cursors[reader] = max(ack.seq, self._cursors.get(reader, 0))
        if ack.outcome == "ok":
            self._acks.raise_to(reader, ack.end, ack.seq)

    def _jumped(self, jump: Jump) -> None:
        reader = (jump.lane, jump.reader)
        if jump.is_back and jump.seq is not None:
            self._cursors[reader] = jump.seq
        elif jump.is_back or self._asks:  # where acks alone move it, any other move has an unknown target
            self._lost.add(reader)

    def of_row(self, fact: Fact) -> Fact:
        """The fact of one row of a state."""
        if type(fact) is Exported:
            fact.prev, self._line = self._line, fact.seq
        return fact


class _Raised:
    """The greatest number so far by key, and as it was at any event; events come in their order.

    For the distant past only the number that came next is kept, so it may say more than there was, never less.
    """

    def __init__(self) -> None:
        self._raises: dict[Hashable, list[tuple[int, int]]] = {}  # key → (event, number), both rising

    def keys(self) -> set[Hashable]:
        """Those that have a number."""
        return set(self._raises)

    def raise_to(self, key: Hashable, event: int, number: int) -> None:
        raises = self._raises.get(key)
        if raises is None:
            self._raises[key] = [(event, number)]
        elif raises[-1][1] < number:
            raises.append((event, number))
            if len(raises) > 2 * RAISES_KEPT:
                raises[: RAISES_KEPT + 1] = [(-1, raises[RAISES_KEPT][1])]

    def by(self, key: Hashable, event: int) -> int | None:
        """The number before this event; None if there was none."""
        raises = self._raises.get(key)
        if raises is None:
            return None
        at, number = raises[-1]
        if at < event:  # mostly
            return number
        return next((number for at, number in reversed(raises) if at < event), None)


def message_of(row: Delivered) -> tuple[str, str | None]:
    """The lane that it was sent in, and its id; where each reader has a lane, messages are sent in another."""
    return "" if row.lane is None or row.lane == row.reader else row.lane, row.id
