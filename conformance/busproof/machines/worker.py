"""A state machine for `worker`: the log with its cursors, leases, presence and the export, held against oracles."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from busproof.adapters.base import Refused
from busproof.fleet import Fleet
from busproof.machines.common import AGENTS, BusMachine, MachineRun, agents, json_values, play
from busproof.models import route
from busproof.models.cursor import CursorModel
from busproof.models.lease import LeaseModel
from busproof.models.log import LogModel, same_json
from busproof.models.presence import PresenceModel

TASKS = ("build", "review")
LOG_ROW, LEASE_ROW, EXPORT_ROW, PRESENCE_ROW = (
    "worker.cursor.18",
    "worker.lease.25",
    "worker.export.13",
    "worker.presence.23",
)

ROWS = (LOG_ROW, LEASE_ROW, EXPORT_ROW, PRESENCE_ROW)

sizes_at_the_edge = st.sampled_from([4093, 4094, 4095, 4096, 9000]).map(lambda count: "x" * count)
messages = st.fixed_dictionaries(
    {"type": st.sampled_from(["note", "task_done"])},
    optional={
        "to": agents | st.none(),
        "payload": json_values | sizes_at_the_edge,
        "correlation_id": st.sampled_from(["c1", "c2"]),
    },
)


class WorkerMachine(BusMachine):
    """Three agents, each a process, on one `worker` bus."""

    def __init__(self) -> None:
        super().__init__()
        self.log, self.cursors = LogModel(), CursorModel()
        self.leases, self.presence = LeaseModel(), PresenceModel()

    @initialize(first=st.lists(messages, max_size=8))
    def open_sessions(self, first: list[dict[str, Any]]) -> None:
        """A log that holds something already: Hypothesis leaves whole rules out of an example, often `publish`."""
        super().open_sessions()
        for message in first:
            self.publish(AGENTS[0], message, None)

    @rule(agent=agents, message=messages, own_id=st.none() | st.integers(0, 5))
    def publish(self, agent: str, message: dict[str, Any], own_id: int | None) -> None:
        """New, the same again, or another content under a known id."""
        if own_id is not None:
            message = {**message, "id": f"m{own_id}"}
        expected = self.log.expects(agent, message)
        try:
            reply = self.call(agent, "publish", message=message)
        except Refused as error:
            good = expected in ("conflict", "either") and error.definite
            self.must(LOG_ROW, good, f"a publish that is {expected} was answered {error}")
            return
        if expected == "conflict":
            # Another choice than ours (W3) is a dialect; the first message must stay.
            return
        if expected == "new":
            self.log.append(agent, message, reply["id"])
            if isinstance(reply.get("seq"), int):
                newest = max(self.log.seqs.values(), default=0)
                self.must(LOG_ROW, reply["seq"] > newest, f"seq {reply['seq']} was given after {newest}")
                self.log.seqs[reply["id"]] = reply["seq"]
        known = self.log.seqs.get(reply["id"])
        self.must(LOG_ROW, reply.get("seq") in (None, known), f"{reply} for a message of seq {known}")

    @precondition(lambda self: "publish_many" in self.has)
    @rule(agent=agents, batch=st.lists(messages, min_size=1, max_size=4))
    def publish_many(self, agent: str, batch: list[dict[str, Any]]) -> None:
        """A batch of new messages."""
        reply = self.call(agent, "publish_many", messages=batch)
        seqs = reply.get("seqs") or [None] * len(batch)
        for message, message_id, seq in zip(batch, reply["ids"], seqs, strict=True):
            self.log.append(agent, message, message_id)
            if seq is not None:
                self.log.seqs[message_id] = seq

    @rule(agent=agents, limit=st.sampled_from([1, 2, 5, 100]))
    def poll(self, agent: str, limit: int) -> None:
        """Exactly the view above the cursor, in order, to the limit, with the content that was sent."""
        got = self.call(agent, "poll", limit=limit)["messages"]
        due = route.view(self.log.messages[self.cursors.at(agent) :], agent)[:limit]
        names = [row["id"] for row in got]
        wanted = [message["id"] for message in due]
        self.must(LOG_ROW, names == wanted, f"a poll of {agent} gave {names}, the model {wanted}")
        for row, message in zip(got, due, strict=True):
            self.log.seqs[row["id"]] = row["seq"]
            same = (
                row["from_agent"] == message["from"]
                and row["type"] == message["type"]
                and row.get("to_agent") == message.get("to")
                and row.get("correlation_id") == message.get("correlation_id")
                and same_json(row.get("payload"), message.get("payload"))
                and row.get("payload_error") is None
            )
            self.must(LOG_ROW, same, f"sent {message!r:.300}, delivered {row!r:.300}")

    @rule(agent=agents, data=st.data())
    def ack(self, agent: str, data: st.DataObject) -> None:
        """Any message that was delivered to somebody, forwards or backwards."""
        known = [m["id"] for m in self.log.messages if m["id"] in self.log.seqs]
        if not known:
            return
        message_id = data.draw(st.sampled_from(known))
        self.call(agent, "ack", seq=self.log.seqs[message_id])
        place = next(i for i, m in enumerate(self.log.messages) if m["id"] == message_id)
        self.cursors.ack(agent, place + 1)

    @rule(agent=agents, beyond=st.sampled_from([1, 10**9]))
    def ack_beyond(self, agent: str, beyond: int) -> None:
        """Above everything that exists: refused, or the agent is deaf."""
        if len(self.log.seqs) < len(self.log.messages):
            return
        error = self.refused(agent, "ack", seq=max(self.log.seqs.values(), default=0) + beyond)
        self.must(LOG_ROW, error is not None and error.definite, f"an ack above the newest seq: {error}")

    @precondition(lambda self: "lease" in self.has)
    @rule(agent=agents, task=st.sampled_from(TASKS))
    def claim(self, agent: str, task: str) -> None:
        """Granted exactly when the model grants it."""
        own = self.leases.held.get(task, ("", 0))
        if own[1] == self.now_ms or (own[0] == agent and own[1] > self.now_ms):
            return  # the very end of a lease, and a holder's own second claim, are dialects (W9)
        reply = self.call(agent, "try_claim_task", task_id=task)
        wanted = self.leases.claim(task, agent, self.now_ms)
        self.must(LEASE_ROW, reply["claimed"] == wanted, f"{agent} claims {task}: {reply}, the model says {wanted}")
        if wanted and isinstance(reply.get("token"), int):
            rises = self.leases.token_rises(task, reply["token"])
            self.must(LEASE_ROW, rises, f"a grant of {task} got token {reply['token']}, not above all before it")

    @precondition(lambda self: "lease" in self.has)
    @rule(agent=agents, task=st.sampled_from(TASKS), op=st.sampled_from(["renew_claim", "release_claim"]))
    def renew_or_release(self, agent: str, task: str, op: str) -> None:
        """Only whoever took it last."""
        holder, end_ms = self.leases.held.get(task, ("", 0))
        if op == "renew_claim":
            if holder == agent and end_ms <= self.now_ms:
                return  # renewing late is a dialect (W9)
            reply = self.call(agent, op, task_id=task)
            wanted = self.leases.renew(task, agent, self.now_ms)
            self.must(LEASE_ROW, reply["renewed"] == wanted, f"{agent} renews {task}: {reply}, the model says {wanted}")
        else:
            self.call(agent, op, task_id=task)
            self.leases.release(task, agent)

    @precondition(lambda self: "clock" in self.has)
    @rule(ms=st.sampled_from([1, 29_999, 30_000, 59_999, 60_000, 300_000]))
    def pass_time(self, ms: int) -> None:
        """On every session at once."""
        self.advance(ms)

    @precondition(lambda self: {"presence", "clock"} <= self.has)
    @rule(
        agent=agents,
        status=st.sampled_from(["idle", "working", "blocked"]),
        other=agents,
        ms=st.sampled_from([0, 1, 29_999, 30_000, 300_000]),
    )
    def heartbeat(self, agent: str, status: str, other: str, ms: int) -> None:
        """And what another sees of everybody after a time: an example need not hold `pass_time`."""
        self.call(agent, "heartbeat", status=status)
        self.presence.beats[agent] = (self.now_ms, status)
        if ms:
            self.advance(ms)
        seen = {row["agent_id"]: (row["age_ms"], row["state"]) for row in self.call(other, "liveness")["agents"]}
        wanted = self.presence.states(self.now_ms)
        self.must(PRESENCE_ROW, seen == wanted, f"liveness says {seen}, the model {wanted}")

    @precondition(lambda self: "export" in self.has)
    @rule(agent=agents)
    def export(self, agent: str) -> None:
        """bus.jsonl is the log."""
        self.call(agent, "export_to_jsonl")
        lines = (self.store / "bus.jsonl").read_bytes().splitlines() if self.log.messages else []
        wanted = len(self.log.messages)
        self.must(EXPORT_ROW, len(lines) == wanted, f"{len(lines)} lines for {wanted} messages")
        if lines:
            last = self.log.messages[-1]["id"].encode()
            self.must(EXPORT_ROW, last in lines[-1], f"the last line is {lines[-1]!r:.200}, not of {last!r}")

    @rule(agent=agents, is_crash=st.integers(0, 9).map(lambda n: n == 0))
    def restart(self, agent: str, is_crash: bool) -> None:
        """A new process takes the agent's place; one in ten dies by SIGKILL."""
        self.reopen(agent, is_crash)


def run(fleet: Fleet, profile: str = "pr", with_seed: int | None = None) -> MachineRun:
    """Play the machine under a profile."""
    return play(WorkerMachine, ROWS, fleet, profile, with_seed)


MACHINES = {"machine.worker": run}
