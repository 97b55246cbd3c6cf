"""The last words of a range: those few of its entries from which all comes that later facts know of it.

`Reading` knows greatest numbers, last positions, and what is still open. So of a range it has to read only the facts
that raise a number for good, the last ones of each reader, and those before a moment that somebody may still ask for:
a call that is open at the range's end may ask for all that was known when it began. Then ranges are read side by
side, each after the last words of all ranges before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Any

from busproof.oracle.checks.extract import EVENTS_OF_A_BLOCK
from busproof.oracle.checks.extract.entries import Asked, Cleared, Entry, Row, Told
from busproof.oracle.checks.extract.following import MESSAGES_KEPT, message_of
from busproof.oracle.checks.extract.source import Source
from busproof.oracle.checks.facts import Acked, Appended, Content, Delivered, Exported, Fact, Hold, Jump, Reached, Read


def last_words(entries: list[Entry], begins: Iterable[int], source: Source) -> list[Entry]:
    """In their order; `begins` of the calls that are open at the end."""
    back = _Back(_Forth(entries, source), begins, source)
    words = [word for entry in reversed(entries) if (word := back.word(entry)) is not None]
    words.reverse()
    return words


class _Forth:
    """What only a look from the beginning tells: the facts, by their Python ids, that must stay, or need not."""

    def __init__(self, entries: list[Entry], source: Source) -> None:
        self.stay, self.go = set[int](), set[int]()
        self._clears = bool(source.clears)
        see: dict[type[Fact], Callable[[Any], None]] = {Delivered: self._see_message, Read: self._see_read}
        see |= {Acked: self._see_move, Jump: self._see_move}
        if source.forgets:
            see[Hold] = self._see_hold
        self._greeted = set[tuple[str, str]]()
        self._at: dict[tuple[str, str], int | None] = {}  # reader → where its last answer left it
        self._claims: dict[str, Fact] = {}  # by their holder, where others name them so
        self._messages: dict[Hashable, Fact] = {}  # message → the first that showed it
        for entry in entries:
            if type(entry) is Cleared:
                self._greeted.clear()
            for fact in entry.facts if type(entry) is Told else ():
                if type(fact) in see:
                    see[type(fact)](fact)
        self.stay.update(map(id, islice(reversed(self._messages.values()), MESSAGES_KEPT)))

    def _see_message(self, row: Delivered) -> None:
        self._messages.setdefault(message_of(row), row)

    def _see_move(self, move: Acked | Jump) -> None:
        self._at.pop((move.lane, move.reader), None)

    def _see_read(self, read: Read) -> None:
        """The first of a reader may tell that it is new; an empty one that leaves its cursor changes nothing."""
        reader = read.lane, read.reader
        if self._clears and reader not in self._greeted:
            self._greeted.add(reader)
            self.stay.add(id(read))
        if read.after is not None:
            if read.least is None and self._at.get(reader) == read.after:
                self.go.add(id(read))
            self._at[reader] = read.after

    def _see_hold(self, hold: Hold) -> None:
        """A claim that is over, and its end."""
        if hold.op == "claim":
            if (older := self._claims.get(hold.holder)) is not None:
                self.go.add(id(older))
            self._claims[hold.holder] = hold
        elif not hold.is_final:
            self.go.add(id(hold))
        elif (claim := self._claims.pop(hold.holder, None)) is not None:
            self.go |= {id(claim), id(hold)}


class _Back:
    """A look from the end: what is seen first there is what lasts."""

    def __init__(self, forth: _Forth, begins: Iterable[int], source: Source) -> None:
        self._stay, self._go = forth.stay, forth.go
        self._lacks = source.lacks
        self._lasts: dict[type[Fact], Callable[[Any], bool]] = {
            Appended: self._of_send,
            Acked: self._of_ack,
            Read: self._of_read,
            Jump: self._of_jump,
            Reached: self._of_export,
            Delivered: lambda row: id(row) in forth.stay,
            Content: self._of_content,
        }
        if source.forgets:
            self._lasts[Hold] = lambda hold: id(hold) not in forth.go
        self._begins = sorted(begins)
        self._begins_in: dict[str, list[int]] = defaultdict(list)  # lane → of attempts that nobody answered
        self._greatest: dict[Hashable, int] = {}  # since the last moment that somebody may ask for
        self._settled, self._wanted, self._asked = set[Hashable](), set[Hashable](), set[int]()
        self._block = -1

    def word(self, entry: Entry) -> Entry | None:
        """The part of it that lasts."""
        match entry:
            case Told():
                lasts = self._lasts
                facts = [fact for fact in reversed(entry.facts) if type(fact) in lasts and lasts[type(fact)](fact)]
                return Told(entry.end, facts[::-1]) if facts else None
            case Row():
                return entry if any(map(self._is_of_row, entry.facts)) else None
            case Asked() if entry.process in self._asked:
                return None
            case Asked():
                self._asked.add(entry.process)
            case Cleared():
                self._greatest.clear()
        return entry

    def _is_of_row(self, fact: Fact) -> bool:
        if type(fact) is Content:
            return self._of_content(fact)
        return (type(fact) is Exported and self._is_first(Exported)) or self._lacks(fact)

    def _of_content(self, content: Content) -> bool:
        """It was shown in the last block, which may go on in the next range."""
        if content.is_sent:
            return False
        block = content.end // EVENTS_OF_A_BLOCK
        self._block = max(self._block, block)
        return block == self._block

    def _of_jump(self, jump: Jump) -> bool:
        return jump.seq is not None or self._is_first((jump.lane, jump.reader, "jumped", jump.is_back))

    def _of_send(self, sent: Appended) -> bool:
        if sent.outcome == "info":
            self._begins_in[sent.lane].append(sent.begin)
            return sent.message is not None
        if sent.outcome != "ok" or sent.seq is None:
            return False
        self._pass(sent.end)
        begins = self._begins_in.get(sent.lane)
        if begins and sent.end < max(begins):
            self._begins_in[sent.lane] = [begin for begin in begins if begin < sent.end]
            self._greatest.pop((sent.lane,), None)
        of_lane = self._raises((sent.lane,), sent.seq)
        return self._raises((sent.lane, sent.addressee), sent.seq) or of_lane

    def _of_ack(self, ack: Acked) -> bool:
        if ack.outcome == "fail":
            return False
        self._pass(ack.end)
        reader = ack.lane, ack.reader
        asks = self._raises((*reader, "asked"), ack.seq)
        return (ack.outcome == "ok" and self._raises((*reader, "acked"), ack.seq)) or asks or reader in self._wanted

    def _of_export(self, export: Reached) -> bool:
        self._pass(export.end)
        return self._raises(Reached, export.seq)

    def _of_read(self, read: Read) -> bool:
        if id(read) in self._go:
            return id(read) in self._stay
        reader, chain = (read.lane, read.reader), (read.lane, read.reader, read.with_own)
        lasts = (
            id(read) in self._stay or reader in self._wanted
        )  # the next one of its reader has to know where this one left it
        self._wanted.discard(reader)
        if read.after is not None:
            lasts = self._is_first((*reader, "after")) or lasts
        if read.least is not None:
            return self._is_first(chain) or lasts
        if read.is_moving and read.after is not None and chain not in self._settled:
            self._wanted.add(reader)
            return True
        return lasts

    def _pass(self, event: int) -> None:
        """Somebody may ask for the greatest numbers before a moment that this event lies before."""
        while self._begins and event < self._begins[-1]:
            self._begins.pop()
            self._greatest.clear()

    def _raises(self, key: Hashable, number: int) -> bool:
        raises = number > self._greatest.get(key, number - 1)
        if raises:
            self._greatest[key] = number
        return raises

    def _is_first(self, key: Hashable) -> bool:
        is_first = key not in self._settled
        self._settled.add(key)
        return is_first
