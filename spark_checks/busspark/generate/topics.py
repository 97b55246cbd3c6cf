"""A correct bus of `topics` in memory: one dense log per topic, and syncs that send, receive and move a cursor."""

from __future__ import annotations

import random
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from busspark.generate.stage import MISTOLD, UNTOLD, Call, Fault, mistold

TOPICS = 5
LIMIT = 20
OVER = 300  # calls later, all that were open are over


@dataclass
class _Row:
    seq: int
    id: str
    sender: str
    key: str

    def told(self) -> dict[str, Any]:
        row = {"seq": self.seq, "sender": self.sender, "message_id": self.id, "client_message_id": self.key}
        return {**row, "content_markdown": f"of {self.key}"}


class Topics:
    """Its lies change one answer, or the messages that one sync sends."""

    system = "topics"
    lies: tuple[str, ...] = (
        "seq_doubled",
        "lost",
        "gap",
        "phantom",
        "row_doubled",
        "skipped",
        "unordered",
        "own_message",
        "delivered_otherwise",
        "redelivered",
        "over_limit",
        "stale",
        "altered",
        "order_reversed" + UNTOLD,
    )
    last_lies = ()

    def __init__(self) -> None:
        self._logs: dict[str, list[_Row]] = defaultdict(list)
        self._tops: dict[str, int] = defaultdict(int)
        self._places: dict[tuple[str, str], int] = defaultdict(int)  # topic, agent → rows of the log that it has passed
        self._was: dict[tuple[str, str], int] = {}  # the same before its last sync
        self._given: dict[str, _Row] = {}  # the last thousand keys, for retries
        self._told: dict[str, int] = {}  # topic → the last seq that a sender was told
        self._lost: set[tuple[str, str]] = set()  # topic, agent: its last answer was lost
        self._unsure: set[str] = set()  # ids of messages of which no sender was told the truth
        self._holes: dict[str, tuple[int, int]] = {}  # topic → a seq that was left out, and when
        self._ids = self._calls = 0

    def draw(self, agent: str, rng: random.Random) -> Call:
        """Half of the syncs send something."""
        outbox = []
        for _ in range(rng.choice((0, 0, 1, 2))):
            self._ids += 1
            outbox.append({"client_message_id": f"k{self._ids}", "content_markdown": f"of k{self._ids}"})
        return "sync", {"topic_id": f"topic-{rng.randrange(TOPICS)}", "outbox": outbox, "max_items": LIMIT}

    def columns(self, call: Call, reply: dict[str, Any] | None) -> dict[str, Any]:
        """A sync has none that a check needs."""
        return {}

    def apply(self, agent: str, call: Call, now_ms: int) -> dict[str, Any]:
        """Send, then receive the messages of others."""
        self._calls += 1
        topic = call[1]["topic_id"]
        sent = [{"message": self._append(topic, agent, item["client_message_id"]).told()} for item in call[1]["outbox"]]
        log, place = self._logs[topic], self._places[topic, agent]
        received: list[dict[str, Any]] = []
        self._was[topic, agent] = place
        while place < len(log) and len(received) < LIMIT:
            if log[place].sender != agent:
                received.append(log[place].told())
            place += 1
        self._places[topic, agent] = place
        return {"received": received, "sent": sent, "cursor": {"last_seq": log[place - 1].seq if place else 0}}

    def _append(self, topic: str, sender: str, key: str) -> _Row:
        if key not in self._given:
            self._tops[topic] += 1
            row = self._given[key] = _Row(self._tops[topic], f"id-{key}", sender, key)
            self._logs[topic].append(row)
            if len(self._given) > 1_000:
                self._given.pop(next(iter(self._given)))
        return self._given[key]

    def told(self, agent: str, call: Call, reply: dict[str, Any] | None) -> None:
        """Remember it for lies that must be certain to show."""
        self._lost.discard((call[1]["topic_id"], agent))
        if reply is None:
            self._unsure |= _sent_by(call)
            self._lost.add((call[1]["topic_id"], agent))
        elif reply["sent"]:
            self._told[call[1]["topic_id"]] = reply["sent"][-1]["message"]["seq"]

    def lie(self, kind: str, agent: str, call: Call, reply: dict[str, Any], beside: list[Call]) -> Fault | None:
        """Lie about sent messages, or about received ones."""
        topic = call[1]["topic_id"]
        if kind in ("seq_doubled", "lost", "gap", "phantom", "row_doubled", "order_reversed"):
            fault = self._lie_of_sent(kind, topic, reply)
            self._unsure |= _sent_by(call) if fault else set()
            return fault
        if kind == "stale":
            return self._lie_of_nothing_new(agent, topic, reply, self._unsure.union(*map(_sent_by, beside)))
        return self._lie_of_received(kind, agent, topic, reply)

    def _lie_of_sent(self, kind: str, topic: str, reply: dict[str, Any]) -> Fault | None:
        log = self._logs[topic]
        if not reply["sent"] or reply["sent"][-1]["message"]["seq"] != log[-1].seq:
            return None
        last = log[-1]
        if kind == "seq_doubled" and topic in self._told and len(reply["sent"]) == 1 and self._told[topic] < last.seq:
            reply["sent"][-1]["message"]["seq"] = self._told[topic]
            return Fault(kind, 0, self._told[topic], ("seq_changed", "order_reversed"))
        if kind == "lost" and not self._is_seen(topic, len(log)):
            log[-1] = _Row(last.seq, "never-" + last.id, "nobody", "never-" + last.key)
            return Fault(kind, 0, last.seq, ("phantom", "stale", "skipped"))
        if kind == "order_reversed" and not self._is_seen(topic, len(log)):
            return self._fill_hole(topic)
        if kind == "gap":
            self._tops[topic] += 1
            return Fault(kind, 0, self._tops[topic])
        if kind in ("phantom", "row_doubled"):
            self._tops[topic] += 1
            extra = _Row(self._tops[topic], f"extra-{last.id}", "nobody", f"extra-{last.key}")
            if kind == "row_doubled":
                extra.sender, extra.key = last.sender, last.key
            log.append(extra)
            return Fault(kind, 0, extra.seq if kind == "phantom" else 0, is_of_the_end=kind == "row_doubled")
        return None

    def _fill_hole(self, topic: str) -> Fault | None:
        """Put the last message where a seq was left out long ago; readers who had read that far were not shown it."""
        if topic not in self._holes:
            self._tops[topic] += 1
            self._holes[topic] = self._tops[topic], self._calls
        seq, since = self._holes[topic]
        if self._calls - since <= OVER:
            return None
        del self._holes[topic]
        log = self._logs[topic]
        row = log.pop()
        if row.seq == self._tops[topic]:  # nobody was told of it: the next message has it, or it would be a gap
            self._tops[topic] -= 1
        row.seq = seq
        at = bisect(log, seq, key=lambda older: older.seq)
        log.insert(at, row)
        for places in (self._places, self._was):
            for of, place in places.items():
                if of[0] == topic:
                    places[of] = min(place, len(log) - 1) + (at < place)
        return Fault("order_reversed", 0, seq, ("skipped", "stale"))

    def _is_seen(self, topic: str, count: int) -> bool:
        """Has anybody passed over the last of so many rows, its sender excepted?"""
        sender = self._logs[topic][-1].sender
        return any(place >= count for (of, who), place in self._places.items() if of == topic and who != sender)

    def _lie_of_received(self, kind: str, agent: str, topic: str, reply: dict[str, Any]) -> Fault | None:
        rows = reply["received"]
        if len(rows) < 3:
            return None
        if kind in MISTOLD:
            return mistold(kind, rows)
        middle = rows[len(rows) // 2]
        seq: int = middle["seq"]
        if kind == "own_message":
            middle["sender"] = agent
            return Fault(kind, 0, seq, ("delivered_otherwise",))
        elif kind == "delivered_otherwise":
            middle["message_id"] = "another"
        elif kind == "altered":
            middle["content_markdown"] = f"altered in call {self._calls}"
        elif kind == "redelivered" and len(rows) < LIMIT and self._was[topic, agent] > 3:
            if (topic, agent) in self._lost:
                return None  # it may have been shown nothing of the rows it passed
            place = self._was[topic, agent] - 1
            while place > 0 and self._logs[topic][place].sender == agent:
                place -= 1
            rows.insert(0, self._logs[topic][place].told())
            return Fault(kind, 0, rows[0]["seq"], ("own_message", "skipped"))
        elif kind == "over_limit" and len(rows) == LIMIT:
            rows.append(dict(rows[-1]))
            return Fault(kind, 0, 0, ("unordered",))
        else:
            return None
        return Fault(kind, 0, seq)

    def _lie_of_nothing_new(self, agent: str, topic: str, reply: dict[str, Any], unsure: set[str]) -> Fault | None:
        """Show nothing, though there was room, and a sender had been told of a message before this sync began."""
        rows = reply["received"]
        if len(rows) == LIMIT or all(row["message_id"] in unsure for row in rows):
            return None
        rows.clear()
        was = self._places[topic, agent] = self._was[topic, agent]
        reply["cursor"]["last_seq"] = self._logs[topic][was - 1].seq if was else 0
        return Fault("stale", 0, 0)

    def states(self, lies: list[str]) -> Iterator[tuple[str, dict[str, Any], Iterator[tuple[str, Any]], list[Fault]]]:
        """The dump."""
        rows = {"messages": sum(map(len, self._logs.values()))}
        left_out = [Fault("gap", 0, seq) for seq, _ in self._holes.values()]
        yield "dump", {"rows": rows}, self._rows(), left_out

    def _rows(self) -> Iterator[tuple[str, Any]]:
        for topic, log in self._logs.items():
            for row in log:
                yield "messages", {"topic_id": topic, **row.told()}


def _sent_by(call: Call) -> set[str]:
    """Ids of the messages that it sends."""
    return {f"id-{item['client_message_id']}" for item in call[1]["outbox"]}
