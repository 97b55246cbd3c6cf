"""From the events of a history, or of a range of one, to its entries: calls are paired, and each tells its facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from busproof.contract.history import STATE_OPS, Event, fill, left_out
from busproof.oracle.checks.calls import OF_CALLS, Call, closed
from busproof.oracle.checks.extract.entries import Asked, Cleared, Entry, Forgot, Head, Row, State, Told
from busproof.oracle.checks.extract.source import Source, as_row
from busproof.oracle.checks.facts import Delivered, Fact, Malformed, Read

NO_TIME = -1


class Taking:
    """Takes the entries of events. A range is told `header`, the value of the history's; others have it themselves.

    `open` are the calls that its end leaves open, `heads` the first events of its processes, if it is a range.
    """

    def __init__(self, source: Source, header: object = None) -> None:
        self.source = source
        self.open: dict[int, Event] = {}
        self.heads: list[Event] = []
        self.lines, self.newest_ms, self.is_whole = 0, NO_TIME, False
        self._met: set[int] | None = None
        if header is not None:
            self._met = set()
            self._begin(header)
        self._left_out = {} if source.contract is None else left_out(source.contract)

    def _begin(self, header: object) -> None:
        if self.source.of_run is not None:
            self.source = self.source.of_run(as_row(header))

    def entries(self, events: Iterable[Event]) -> Iterator[Entry]:
        """In the order of the events."""
        asks, clears, forgets = self.source.asks, self.source.clears, self.source.forgets
        told_in_value = self._left_out.get
        for self.lines, event in enumerate(events, 1):
            op, type_ = event.op, event.type
            if (places := told_in_value((type_, op or ""))) is not None:
                fill(event, places)
            if op in asks:
                yield Asked(event.process, event.agent or "", event.seq if type_ == "invoke" else None)
            elif op in clears:
                yield Cleared()
            elif op in forgets:
                yield Forgot(event.index)
            elif type_ == "header":
                self._begin(event.value)
            elif type_ == "footer":
                self.is_whole = True
            if type_ == "state":
                facts = list(self.source.of_state(event.key or "", event.value, event.index))
                yield Row(op or "", event.process, event.index, facts)
            elif type_ not in OF_CALLS:
                continue
            elif self._met is not None and event.process not in self._met:
                yield self._head(event)
            elif (call := closed(self.open, event)) is not None:
                yield from self.told(call)

    def _head(self, event: Event) -> Head:
        assert self._met is not None
        self._met.add(event.process)
        if event.type == "invoke":
            self.open[event.process] = event
        self.heads.append(event)
        return Head(len(self.heads) - 1)

    def told(self, call: Call) -> Iterator[Entry]:
        """The entries of one call."""
        source, at_ms = self.source, call.at_ms
        # The first clock.set does not have the time of the clock that it sets.
        if at_ms > self.newest_ms and call.op != "clock.set":
            self.newest_ms = at_ms
        facts = list(source.of_call(call))
        place(facts)
        if call.is_malformed or (call.outcome == "ok" and source.has_wrong_number(call)):
            facts.append(Malformed(call.end))
        if facts:
            yield Told(call.end, facts)
        if call.op in STATE_OPS and call.outcome == "ok" and call.ended is not None:
            yield State(call.op, call.ended.process, call.end, call.reply.get("torn") is True)


def place(facts: list[Fact]) -> None:
    """Let a read know the messages that it delivered, and each of those its read and the one before it."""
    read, last = None, None
    for fact in facts:
        if type(fact) is Read:
            read = fact
        elif type(fact) is Delivered and read is not None:
            fact.lane, fact.reader, fact.with_own, fact.begin = read.lane, read.reader, read.with_own, read.begin
            if last is not None:
                fact.prev, fact.prev_priority, fact.prev_sent_at = last.seq, last.priority, last.sent_at
            if fact.seq is not None:
                read.least = fact.seq if read.least is None else min(read.least, fact.seq)
                read.most = fact.seq if read.most is None else max(read.most, fact.seq)
            last = fact
