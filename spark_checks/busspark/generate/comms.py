"""A correct bus of `comms` in memory: messages by priority, claims that run out, dead letters after three failures."""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from busspark.generate.stage import AGENTS, Call, Fault

LEASE_MS = 300
LIMIT = 5
FAILURES_MAX = 3
REMEMBERED = 1_000
CHANNELS = ["general", "urgent"]


@dataclass
class _Message:
    id: str
    to: str
    sender: str
    priority: int
    sent_at: str
    claims: int = 0
    failures: int = 0
    until: int = 0  # of the claim that lives
    status: str = "pending"

    def told(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "to_agent": self.to,
            "priority": self.priority,
            "timestamp": self.sent_at,
            "channel": "general",
            "from_agent": self.sender,
            "type": "note",
            "payload": {"of": self.id},
        }


class Comms:
    """Its lies change one answer, or the result of one send."""

    system = "comms"
    lies = (
        "lost",
        "phantom",
        "row_doubled",
        "over_limit",
        "misreceived",
        "channel_not_asked",
        "received_from_nobody",
        "received_twice",
        "altered",
        "out_of_order",
        "overlap",
        "token_not_rising",
        "claimed_by_another",
        "claimed_after_done",
    )
    last_lies = ("buried_too_early", "not_buried")

    def __init__(self) -> None:
        self._messages: dict[str, _Message] = {}  # those that agents may still name
        self._pending: dict[str, dict[str, _Message]] = defaultdict(dict)  # agent → its messages, by id
        self._claimed: dict[str, str] = {}  # agent → the message it works on
        self._over: dict[str, str] = {}  # agent → the message it was told is done
        self._ids: list[str] = []  # of the final state
        self._dead: list[tuple[str, bool]] = []  # id, and whether all its failures were told
        self._unsure: set[str] = set()  # named by calls that nobody answered
        self._sent = self._alterations = 0

    def draw(self, agent: str, rng: random.Random) -> Call:
        """Agents do the claimed work, and look for more; some ask for messages that are not theirs, or are over."""
        choice, pending = rng.random(), self._pending[agent]
        if agent in self._claimed and choice < 0.6:
            failed = {"error": "it broke"} if rng.random() < 0.3 else {}
            return "complete_message", {"message_id": self._claimed[agent], **failed}
        if pending and choice < 0.65:
            return "claim_message", {"message_id": next(iter(pending))}
        if choice < 0.7 and agent in self._over:
            return "claim_message", {"message_id": self._over[agent]}
        if choice < 0.72:
            others = self._pending[f"agent-{rng.randrange(AGENTS)}"]
            if others:
                return "claim_message", {"message_id": next(iter(others))}
        if choice < 0.85:
            return "receive_messages", {"limit": LIMIT, "channels": CHANNELS}
        self._sent += 1
        to = f"agent-{rng.randrange(AGENTS)}"
        message = {"message_id": f"m{self._sent}", "to_agent": to, "priority": rng.randrange(10), "ttl_seconds": None}
        return "send_message", {**message, "message_type": "note", "payload": {"of": f"m{self._sent}"}}

    def columns(self, call: Call, reply: dict[str, Any] | None) -> dict[str, Any]:
        """The columns that the contract of the system has."""
        members = {} if call[0] == "receive_messages" else {"key": call[1]["message_id"]}
        until = (reply or {}).get("lease_until_ms")
        return members if until is None else {**members, "lease_until_ms": until}

    # -- the work of the bus

    def apply(self, agent: str, call: Call, now_ms: int) -> dict[str, Any]:
        """One call."""
        op, params = call
        if op == "send_message":
            return self._send(agent, params, now_ms)
        if op == "receive_messages":
            first = heapq.nsmallest(LIMIT, self._pending[agent].values(), key=lambda row: (-row.priority, row.sent_at))
            return {"messages": [row.told() for row in first]}
        message = self._messages.get(params["message_id"])
        if op == "claim_message":
            return self._claim(agent, message, now_ms)
        return self._complete(agent, message, is_failed="error" in params)

    def _send(self, agent: str, params: dict[str, Any], now_ms: int) -> dict[str, Any]:
        id_, to = params["message_id"], params["to_agent"]
        if id_ not in self._messages:
            message = _Message(id_, to, agent, params["priority"], f"{now_ms:015}")
            self._messages[id_] = self._pending[to][id_] = message
            self._ids.append(id_)
        return {"message_id": id_}

    def _claim(self, agent: str, message: _Message | None, now_ms: int) -> dict[str, Any]:
        is_free = message is not None and message.status == "pending" and message.until <= now_ms
        if message is None or message.to != agent or not is_free:
            return {"claimed": False}
        message.claims, message.until = message.claims + 1, now_ms + LEASE_MS
        self._claimed[agent] = message.id
        return {"claimed": True, "delivery_count": message.claims, "lease_until_ms": message.until}

    def _complete(self, agent: str, message: _Message | None, *, is_failed: bool) -> dict[str, Any]:
        self._claimed.pop(agent, None)
        if message is None:
            return {"status": "done"}
        if message.status == "pending" and message.until:
            message.until = 0
            message.failures += is_failed
            if not is_failed or message.failures == FAILURES_MAX:
                self._end(agent, message, "dead" if is_failed else "done")
        return {"status": "failed" if message.status == "pending" else message.status}

    def _end(self, agent: str, message: _Message, status: str) -> None:
        message.status = status
        del self._pending[agent][message.id]
        if status == "dead":
            self._dead.append((message.id, message.id not in self._unsure))
        elif len(self._messages) > REMEMBERED:
            oldest = next(iter(self._messages.values()))
            if oldest.status != "pending":
                del self._messages[oldest.id]

    # -- its lies

    def told(self, agent: str, call: Call, reply: dict[str, Any] | None) -> None:
        """Remember it for lies that must be certain to show."""
        id_ = call[1].get("message_id", "")
        if reply is None:
            self._unsure.add(id_)
        elif reply.get("status") == "done" and id_ in self._messages:
            self._over[self._messages[id_].to] = id_

    def lie(self, kind: str, agent: str, call: Call, reply: dict[str, Any], beside: list[Call]) -> Fault | None:
        """Lie about a send, about received messages, or about a claim."""
        op, params = call
        id_ = params.get("message_id", "")
        if op == "send_message":
            return self._lie_of_send(kind, id_)
        if op == "receive_messages":
            return self._lie_of_received(kind, reply["messages"])
        if op != "claim_message" or id_ in self._unsure or any(other.get("message_id") == id_ for _, other in beside):
            return None  # another call may explain it
        return self._lie_of_claim(kind, agent, id_, reply)

    def _lie_of_send(self, kind: str, id_: str) -> Fault | None:
        if self._ids[-1] != id_ or self._ids[-2:-1] == [id_]:
            return None  # others were sent since, or it is a lie already
        message = self._messages[id_]
        if kind == "lost" and message.status == "pending" and not message.claims:
            message.status = kind
            del self._pending[message.to][id_]
            self._ids.pop()
            return Fault(kind, 0, 0)
        if kind == "phantom":
            self._ids.append(f"phantom-{id_}")
            return Fault(kind, 0, 0, is_of_the_end=True)
        if kind == "row_doubled":
            self._ids.append(id_)
            return Fault(kind, 0, 0, is_of_the_end=True)
        return None

    def _lie_of_received(self, kind: str, rows: list[dict[str, Any]]) -> Fault | None:
        if not rows:
            return None
        first, last = rows[0], rows[-1]
        if kind == "over_limit" and len(rows) == LIMIT:
            rows.append(dict(last))
            return Fault(kind, 0, 0, ("received_twice",))
        if kind == "received_twice" and len(rows) < LIMIT:
            rows.append(dict(last))
        elif kind == "out_of_order" and first["priority"] > last["priority"]:
            rows.reverse()
        elif kind == "misreceived":
            first["to_agent"] = "somebody else"
            return Fault(kind, 0, 0, ("altered",))
        elif kind == "channel_not_asked":
            first["channel"] = "private"
            return Fault(kind, 0, 0, ("altered",))
        elif kind == "altered":
            self._alterations += 1
            first["payload"] = {"of": self._alterations}
        elif kind == "received_from_nobody":
            first["id"] = f"nobody's-{first['id']}"
        else:
            return None
        return Fault(kind, 0, 0)

    def _lie_of_claim(self, kind: str, agent: str, id_: str, reply: dict[str, Any]) -> Fault | None:
        message = self._messages.get(id_)
        if message is None:
            return None
        if kind == "token_not_rising" and reply.get("delivery_count", 0) > 1:
            reply["delivery_count"] -= 1
            return Fault(kind, 0, 0)
        if reply["claimed"]:
            return None
        is_mine, is_live = message.to == agent, message.status == "pending" and message.until > 0
        if kind == "overlap" and is_mine and is_live:
            message.claims += 1
            reply.update(claimed=True, delivery_count=message.claims, lease_until_ms=message.until)
        elif kind == "claimed_by_another" and not is_mine:
            reply.update(claimed=True, delivery_count=1, lease_until_ms=0)
        elif kind == "claimed_after_done" and is_mine and self._over.get(agent) == id_ and message.status == "done":
            reply.update(claimed=True, delivery_count=message.claims + 1, lease_until_ms=0)
        else:
            return None
        return Fault(kind, 0, 0)

    # -- the end

    def states(self, lies: list[str]) -> Iterator[tuple[str, dict[str, Any], Iterator[tuple[str, Any]], list[Fault]]]:
        """The dump: all messages, and the dead letters."""
        dead, faults = [id_ for id_, _ in self._dead], []
        certain = [id_ for id_, is_certain in self._dead if is_certain and id_ not in self._unsure]
        alive = next((row for row in self._messages.values() if row.status == "pending" and not row.claims), None)
        if lies and certain and alive:
            dead = [*(id_ for id_ in dead if id_ != certain[0]), alive.id]
            faults = [Fault(kind, 0, 0) for kind in lies]
        rows = {"messages": len(self._ids), "dead_letter_queue": len(dead)}
        yield "dump", {"rows": rows}, self._rows(dead), faults

    def _rows(self, dead: list[str]) -> Iterator[tuple[str, Any]]:
        for id_ in self._ids:
            yield "messages", {"id": id_}
        for id_ in dead:
            yield "dead_letter_queue", {"id": id_}
