"""A correct bus of `worker` in memory: one log, readers that acknowledge, leases of tasks, an export."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from busspark.generate.stage import AGENTS, MISTOLD, UNTOLD, Call, Fault, mistold

LEASE_MS = 300
LIMIT = 20
CLAIMS_OF_A_TASK = 40
NOBODY = "nobody"  # some messages are to an agent that reads nothing: it was shown no wrong ones
Row = tuple[int, str, str | None, str]  # seq, id, addressee, sender


class Worker:
    """Its lies change one answer, or the effect of one call."""

    system = "worker"
    lies: tuple[str, ...] = (
        "seq_doubled",
        "lost",
        "order_reversed",
        "phantom",
        "row_doubled",
        "skipped",
        "unordered",
        "misdelivered",
        "delivered_otherwise",
        "redelivered",
        "over_limit",
        "ack_went_back",
        "cursor_ahead",
        "export_went_back",
        "overlap",
        "token_not_rising",
        "refused_though_free",
        "renewed_not_held",
        "released_not_held",
        "altered",
        "order_reversed" + UNTOLD,
    )
    last_lies = ("cursor_lost", "export_doubled", "export_missing", "export_of_nothing")

    def __init__(self) -> None:
        self._log: list[Row] = []
        self._seq = 0
        self._ids = 0
        self._given: dict[str, int] = {}  # the last thousand ids, for retries
        self._views: dict[str, list[int]] = defaultdict(list)  # agent → places in the log
        self._read: dict[str, int] = defaultdict(int)  # agent → place in its view
        self._cursors: dict[str, int] = defaultdict(int)
        self._delivered: dict[str, int] = defaultdict(int)  # agent → the last seq that it was shown
        self._leases: dict[str, tuple[str, int]] = {}  # task → holder, until
        self._tokens: dict[str, int] = defaultdict(int)
        self._holding: dict[str, str] = {}  # agent → task
        self._tasks = 0
        self._released: dict[str, str] = {}  # agent → task that it gave back last
        self._told = 0  # the last seq that a sender was told
        self._exported = self._export_told = 0  # the last seq in the export, and the last that was told
        self._unsure: set[str] = set()  # tasks of calls that nobody answered, or that a lie was told of
        self._alterations = 0
        self._hole = self._hole_age = 0  # a seq that was left out

    # -- the calls of agents

    def draw(self, agent: str, rng: random.Random) -> Call:
        """Readers acknowledge the messages they have seen; holders renew and release."""
        choice = rng.random()
        if self._delivered[agent] > self._cursors[agent] and choice < 0.6:
            return "ack", {"agent_id": agent, "seq": self._delivered[agent]}
        if agent in self._holding and choice < 0.75:
            op = "renew_claim" if rng.random() < 0.4 else "release_claim"
            return op, {"agent_id": agent, "task_id": self._holding[agent]}
        if agent in self._released and choice > 0.98:
            op = "renew_claim" if rng.random() < 0.5 else "release_claim"  # nobody may, so it is refused
            return op, {"agent_id": agent, "task_id": self._released.pop(agent)}
        if choice < 0.3:
            return "poll", {"agent_id": agent, "limit": LIMIT}
        if choice < 0.6:
            self._tasks += 1
            task = f"task-{self._tasks // CLAIMS_OF_A_TASK * 4 + rng.randrange(4)}"
            return "try_claim_task", {"agent_id": agent, "task_id": task}
        if choice > 0.99:
            return "export_to_jsonl", {}
        self._ids += 1
        to = rng.choice((None, NOBODY, *(f"agent-{rng.randrange(AGENTS)}" for _ in range(8))))
        message = {"id": f"m{self._ids}", "type": "note", "to": to, "payload": {"of": f"m{self._ids}"}}
        return "publish", {"message": message}

    def columns(self, call: Call, reply: dict[str, Any] | None) -> dict[str, Any]:
        """The columns that the contract of the system has."""
        op, params = call
        if op == "publish":
            members = {"key": params["message"]["id"]}
            return members if reply is None else {**members, "seq": reply["seq"]}
        if op == "ack":
            return {"seq": params["seq"]}
        if op in ("poll", "export_to_jsonl"):
            return {}
        members = {"key": params["task_id"]}
        if reply is None:
            return members
        granted = {
            "granted": reply["granted"],
            "lease_until_ms": reply.get("lease_until_ms"),
            "token": reply.get("token"),
        }
        return {**members, **{name: value for name, value in granted.items() if value is not None}}

    # -- the work of the bus

    def apply(self, agent: str, call: Call, now_ms: int) -> dict[str, Any]:
        """One call."""
        op, params = call
        self._hole_age += 1
        if op == "publish":
            return self._publish(agent, params["message"])
        if op == "poll":
            return self._poll(agent)
        if op == "ack":
            self._cursors[agent] = max(params["seq"], self._cursors[agent])
            self._catch_up(agent)
            return {"last_acked_seq": self._cursors[agent]}
        if op == "export_to_jsonl":
            self._exported = max([self._exported, *(seq for seq, *_ in self._log[-1:])])
            return {"last_seq": self._exported}
        return self._hold(op, agent, params["task_id"], now_ms)

    def _publish(self, agent: str, message: dict[str, Any]) -> dict[str, Any]:
        id_ = message["id"]
        if id_ not in self._given:
            self._append(id_, message["to"], agent)
            if len(self._given) > 1_000:
                self._given.pop(next(iter(self._given)))
        return {"id": id_, "seq": self._given[id_]}

    def _append(self, id_: str, to: str | None, sender: str) -> None:
        self._seq += 1
        self._given[id_] = self._seq
        self._log.append((self._seq, id_, to, sender))
        for agent in [to] if to else [f"agent-{n}" for n in range(AGENTS)]:
            self._views[agent].append(len(self._log) - 1)

    def _catch_up(self, agent: str) -> None:
        view, place = self._views[agent], self._read[agent]
        while place < len(view) and self._log[view[place]][0] <= self._cursors[agent]:
            place += 1
        self._read[agent] = place

    def _poll(self, agent: str) -> dict[str, Any]:
        place = self._read[agent]
        rows = [self._log[at] for at in self._views[agent][place : place + LIMIT]]
        if rows:
            self._delivered[agent] = rows[-1][0]
        return {"messages": [{**_columns(row), "payload": {"of": row[1]}} for row in rows]}

    def _hold(self, op: str, agent: str, task: str, now_ms: int) -> dict[str, Any]:
        holder, until = self._leases.get(task, ("", 0))
        is_live = until > now_ms
        is_granted = holder == agent and is_live if op != "try_claim_task" else not is_live or holder == agent
        if op == "release_claim":
            self._holding.pop(agent, None)
            if is_granted:
                del self._leases[task]
                self._released[agent] = task
            return {"granted": is_granted}
        if not is_granted:
            self._holding.pop(agent, None)
            return {"granted": False}
        reply: dict[str, Any] = {"granted": True, "lease_until_ms": now_ms + LEASE_MS}
        self._leases[task] = (agent, now_ms + LEASE_MS)
        self._holding[agent] = task
        if op == "try_claim_task":
            self._tokens[task] += 1
            reply["token"] = self._tokens[task]
        return reply

    # -- its lies

    def told(self, agent: str, call: Call, reply: dict[str, Any] | None) -> None:
        """Remember it for lies that must be certain to show."""
        op, params = call
        if reply is None:
            self._unsure.add(params.get("task_id", ""))
        elif op == "publish":
            self._told = reply["seq"]
        elif op == "export_to_jsonl":
            self._export_told = reply["last_seq"]

    def lie(self, kind: str, agent: str, call: Call, reply: dict[str, Any], beside: list[Call]) -> Fault | None:
        """Tell each lie by its own method below."""
        op, params = call
        if op == "publish":
            return self._lie_of_publish(kind, reply)
        if op == "poll":
            return self._lie_of_poll(kind, agent, reply["messages"])
        if op == "ack":
            return self._lie_of_ack(kind, reply)
        if op == "export_to_jsonl":
            return self._lie_of_export(kind, reply, beside)
        task = params["task_id"]
        if task in self._unsure or any(other.get("task_id") == task for _, other in beside):
            return None  # another call may explain it
        fault = self._lie_of_hold(kind, op, task, reply)
        self._unsure |= {task} if fault else set()  # one lie may explain another
        return fault

    def _lie_of_publish(self, kind: str, reply: dict[str, Any]) -> Fault | None:
        seq, id_, to, sender = self._log[-1]
        if reply["id"] != id_ or any(self._delivered[agent] >= seq for agent in self._delivered):
            return None
        if kind == "seq_doubled" and self._told and self._told != seq:
            reply["seq"] = self._told
            return Fault(kind, 0, reply["seq"], ("seq_changed", "order_reversed"))
        if kind == "lost":
            self._log[-1] = (seq, "never-" + id_, NOBODY, sender)
            self._unsee(to)
            return Fault(kind, 0, seq, ("phantom",))
        if kind == "order_reversed":
            return self._fill_hole(reply)
        if kind == "phantom":
            self._seq += 1
            self._log.append((self._seq, f"phantom-{self._seq}", NOBODY, sender))
            return Fault(kind, 0, self._seq)
        if kind == "row_doubled" and to == NOBODY:
            self._seq += 1
            self._log.append((self._seq, id_, to, sender))
            return Fault(kind, 0, 0, is_of_the_end=True)
        return None

    def _fill_hole(self, reply: dict[str, Any]) -> Fault | None:
        """Put this answer's message where a seq was left out long ago. To leave one out is no fault."""
        if not self._hole:
            self._seq += 1
            self._hole, self._hole_age = self._seq, 0
        if self._hole_age <= 100:  # calls from then may not be over
            return None
        (_, id_, to, sender), seq = self._log[-1], self._hole
        self._log[-1] = (seq, id_, to, sender)
        self._unsee(to)
        self._given[id_] = reply["seq"] = seq
        self._hole = 0
        return Fault("order_reversed", 0, seq, ("skipped", "stale"))

    def _unsee(self, to: str | None) -> None:
        """Nobody is shown the last message."""
        for agent in [to] if to else list(self._views):
            self._views[agent].pop()

    def _lie_of_poll(self, kind: str, agent: str, rows: list[dict[str, Any]]) -> Fault | None:
        if len(rows) < 3:
            return None
        if kind in MISTOLD:
            return mistold(kind, rows)
        middle = rows[len(rows) // 2]
        seq: int = middle["seq"]
        if kind == "misdelivered":
            middle["to_agent"] = "somebody else"
            return Fault(kind, 0, seq, ("delivered_otherwise", "altered"))
        elif kind == "altered":
            self._alterations += 1
            middle["payload"] = {"of": self._alterations}
        elif kind == "delivered_otherwise":
            middle["id"] = "another"
            return Fault(kind, 0, seq, ("differs",))
        elif kind == "redelivered" and self._cursors[agent]:
            old = next(self._log[at] for at in self._views[agent] if self._log[at][0] <= self._cursors[agent])
            rows.insert(0, {**_columns(old), "payload": {"of": old[1]}})
            return Fault(kind, 0, old[0], ("skipped", "over_limit"))
        elif kind == "over_limit" and len(rows) == LIMIT:
            rows += [dict(rows[-1])] * 1
            return Fault(kind, 0, 0, ("unordered",))
        else:
            return None
        return Fault(kind, 0, seq)

    def _lie_of_ack(self, kind: str, reply: dict[str, Any]) -> Fault | None:
        if kind == "ack_went_back" and reply["last_acked_seq"] > 1_000:
            reply["last_acked_seq"] = 1
        elif kind == "cursor_ahead":
            reply["last_acked_seq"] = 2**60
        else:
            return None
        return Fault(kind, 0, 0)

    def _lie_of_export(self, kind: str, reply: dict[str, Any], beside: list[Call]) -> Fault | None:
        if kind != "export_went_back" or self._export_told < 2 or any(op == "export_to_jsonl" for op, _ in beside):
            return None  # nobody was told more before it began
        reply["last_seq"] = 1
        return Fault(kind, 0, 0)

    def _lie_of_hold(self, kind: str, op: str, task: str, reply: dict[str, Any]) -> Fault | None:
        if kind == "token_not_rising" and reply.get("token", 0) > 1:
            reply["token"] -= 1
            return Fault(kind, 0, 0)
        if kind == "overlap" and op == "try_claim_task" and reply["granted"] is False:
            self._tokens[task] += 1
            _, until = self._leases.get(task, ("", 0))
            reply.update(granted=True, token=self._tokens[task], lease_until_ms=until + 1)
            also = ("released_after_retake", "renewed_after_retake", "refused_though_free", "released_not_held")
            return Fault(kind, 0, 0, (*also, "renewed_not_held"))
        if kind == "refused_though_free" and reply.get("token") == 1:
            # Nobody has ever held this task, so nobody can hold it now.
            self._leases.pop(task)
            self._tokens[task] -= 1
            for agent in [agent for agent, held in self._holding.items() if held == task]:
                del self._holding[agent]
            reply.clear()
            reply["granted"] = False
            return Fault(kind, 0, 0)
        if kind in ("renewed_not_held", "released_not_held") and reply["granted"] is False:
            if op != {"renewed_not_held": "renew_claim", "released_not_held": "release_claim"}[kind]:
                return None
            if task in self._holding.values() or task in self._leases:
                return None  # somebody has it, so this is more than one lie
            reply["granted"] = True
            if op == "renew_claim":
                reply["lease_until_ms"] = 0
            return Fault(kind, 0, 0, (kind.replace("not_held", "after_retake"),))
        return None

    # -- the end

    def states(self, lies: list[str]) -> Iterator[tuple[str, dict[str, Any], Iterator[tuple[str, Any]], list[Fault]]]:
        """The export, then the dump."""
        seqs = sorted(seq for seq, *_ in self._log)
        faults = []
        if lies:
            third = len(seqs) // 3
            faults = [Fault("export_missing", 0, seqs[third]), Fault("export_doubled", 0, seqs[2 * third])]
            faults.append(Fault("export_of_nothing", 0, self._seq + 1))
            seqs = [*seqs[:third], *seqs[third + 1 : 2 * third + 1], *seqs[2 * third :], self._seq + 1]
        yield "read_export", {"torn": False, "rows": {"lines": len(seqs)}}, (("lines", seq) for seq in seqs), faults
        cursors = dict(self._cursors)
        faults = []
        if lies:
            agent = max(cursors, key=lambda agent: cursors[agent])
            cursors[agent] -= 1
            faults = [Fault("cursor_lost", 0, cursors[agent])]
        rows = {"messages": len(self._log), "cursors": len(cursors)}
        yield "dump", {"rows": rows}, self._rows(cursors), faults

    def _rows(self, cursors: dict[str, int]) -> Iterator[tuple[str, Any]]:
        for row in self._log:
            yield "messages", {**_columns(row), "payload": f'{{"of": "{row[1]}"}}'}
        for agent, seq in cursors.items():
            yield "cursors", {"agent_id": agent, "last_acked_seq": seq}


def _columns(row: Row) -> dict[str, Any]:
    seq, id_, to, sender = row
    return {"seq": seq, "id": id_, "from_agent": sender, "to_agent": to, "type": "note"}
