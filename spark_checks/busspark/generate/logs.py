"""A correct bus in memory that only appends: each message to one log, under a seq that its sender is told."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from busspark.generate.stage import UNTOLD, Call, Fault

REMEMBERED = 1_000
OVER = 300  # calls later, all that were open are over


class Logs(ABC):
    """Its lies change one answer, or the result of one send. Each system says what a call and a row look like."""

    lies: tuple[str, ...] = (
        *("seq_doubled", "lost", "order_reversed", "phantom", "row_doubled"),
        "order_reversed" + UNTOLD,
    )
    last_lies: tuple[str, ...] = ()
    system: str
    told_as: str  # the name of the seq in an answer
    may_repeat: bool  # a message may be sent again though its sender was answered

    def __init__(self) -> None:
        self._logs: dict[str, list[tuple[int | None, str]]] = defaultdict(list)
        self._given: dict[str, int] = {}  # the last ids and their seqs, for retries
        self._told: dict[str, int] = {}  # log → the last seq that a sender was told
        self._done: dict[str, Call] = {}  # id → the call that was answered, and truly
        self._holes: dict[str, tuple[int, int]] = {}  # log → a seq that was left out, and when
        self._seq = self._calls = self._ids = 0

    @abstractmethod
    def _message(self, agent: str, name: str, rng: random.Random) -> dict[str, Any]:
        """The parameters of its send."""

    @abstractmethod
    def _place(self, params: dict[str, Any]) -> tuple[str, str]:
        """The message's log, and its id there."""

    @abstractmethod
    def _row(self, log: str, seq: int | None, id_: str) -> dict[str, Any]:
        """The message's row in the final state."""

    def draw(self, agent: str, rng: random.Random) -> Call:
        """Some send again a message that was answered."""
        if self.may_repeat and self._done and rng.random() < 0.1:
            return next(reversed(self._done.values()))
        self._ids += 1
        return "send", self._message(agent, f"m{self._ids}", rng)

    def columns(self, call: Call, reply: dict[str, Any] | None) -> dict[str, Any]:
        """None that a check needs."""
        return {}

    def apply(self, agent: str, call: Call, now_ms: int) -> dict[str, Any]:
        """Append, unless it stands already."""
        self._calls += 1
        log, id_ = self._place(call[1])
        if id_ not in self._given:
            self._seq += 1
            self._given[id_] = self._seq
            self._append(log, id_, call[1])
            if len(self._given) > REMEMBERED:
                self._given.pop(next(iter(self._given)))
        return {self.told_as: self._given[id_]}

    def _append(self, log: str, id_: str, params: dict[str, Any]) -> None:
        self._logs[log].append((self._seq, id_))

    def told(self, agent: str, call: Call, reply: dict[str, Any] | None) -> None:
        """Remember it for lies, and to be sent again."""
        log, id_ = self._place(call[1])
        if reply is not None:
            self._told[log] = reply[self.told_as]
            if self._given.get(id_) == reply[self.told_as]:
                self._done[id_] = call
            if len(self._done) > REMEMBERED // 2:
                self._done.pop(next(iter(self._done)))

    def lie(self, kind: str, agent: str, call: Call, reply: dict[str, Any], beside: list[Call]) -> Fault | None:
        """Lie about the last message of a log, or about one that was sent again."""
        log, id_ = self._place(call[1])
        seq = reply[self.told_as]
        if kind == "id_moved" and id_ in self._done:
            self._seq += 1
            reply[self.told_as] = self._seq
            return Fault(kind, 0, self._seq, ("seq_changed",))
        if self._logs[log][-1] != (seq, id_) or id_ in self._done:
            return None
        if kind == "order_reversed":
            return self._fill_hole(log, id_, reply)
        if kind == "seq_doubled" and self._told.get(log, seq) != seq:
            reply[self.told_as] = self._told[log]
            return Fault(kind, 0, self._told[log], ("seq_changed", "order_reversed"))
        if kind == "lost":
            return self._lose(log, call[1])
        if kind in ("phantom", "row_doubled"):
            self._seq += 1
            self._logs[log].append((self._seq, id_ if kind == "row_doubled" else f"{id_}-phantom"))
            return Fault(kind, 0, self._seq if kind == "phantom" else 0, is_of_the_end=kind == "row_doubled")
        return None

    def _lose(self, log: str, params: dict[str, Any]) -> Fault | None:
        seq, _ = self._logs[log].pop()
        return Fault("lost", 0, seq or 0)

    def _fill_hole(self, log: str, id_: str, reply: dict[str, Any]) -> Fault | None:
        """Put it where a seq was left out long ago. To leave one out is no fault."""
        if log not in self._holes:
            self._seq += 1
            self._holes[log] = self._seq, self._calls
        seq, since = self._holes[log]
        if self._calls - since <= OVER:
            return None
        del self._holes[log]
        self._logs[log][-1] = (seq, id_)
        self._given[id_] = reply[self.told_as] = seq
        return Fault("order_reversed", 0, seq)

    def states(self, lies: list[str]) -> Iterator[tuple[str, dict[str, Any], Iterator[tuple[str, Any]], list[Fault]]]:
        """The dump."""
        yield "dump", {"rows": {"messages": sum(map(len, self._logs.values()))}}, self._rows(), []

    def _rows(self) -> Iterator[tuple[str, Any]]:
        for log, rows in self._logs.items():
            for seq, id_ in rows:
                yield "messages", self._row(log, seq, id_)
