"""Hypothesis state machines: random programs over several processes on one store, held against the oracles.

Each example is a fresh store; the processes stay warm. What a machine finds is shrunk to the shortest program that
still shows it, and that program is the script of the failure.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from busproof.adapters.base import Lost, Refused
from busproof.fleet import Fleet
from busproof.history import Recorder
from busproof.models import route
from busproof.models.cursor import CursorModel
from busproof.models.lease import LeaseModel
from busproof.models.log import LogModel, same_json
from busproof.models.presence import PresenceModel
from busproof.session import Session
from busproof.suite import T0_MS, Finding

# Our own profiles: Hypothesis's `ci` derandomizes and drops the database.
PROFILES = {
    "pr": settings(max_examples=60, stateful_step_count=25),
    "nightly": settings(max_examples=10_000, stateful_step_count=30),
}

AGENTS = ("ada", "bob", "cy")
TASKS = ("build", "review")
LOG_ROW, LEASE_ROW, EXPORT_ROW, PRESENCE_ROW = (
    "worker.cursor.18", "worker.lease.25", "worker.export.13", "worker.presence.23",
)  # fmt: skip

agents = st.sampled_from(AGENTS)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\u00fc\u20ac ", max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)  # fmt: skip
sizes_at_the_edge = st.sampled_from([4093, 4094, 4095, 4096, 9000]).map(lambda count: "x" * count)
messages = st.fixed_dictionaries(
    {"type": st.sampled_from(["note", "task_done"])},
    optional={
        "to": agents | st.none(),
        "payload": json_values | sizes_at_the_edge,
        "correlation_id": st.sampled_from(["c1", "c2"]),
    },
)


class Violation(AssertionError):
    """The bus did what the model does not allow."""

    def __init__(self, requirement: str, why: str) -> None:
        super().__init__(f"{requirement}: {why}")
        self.requirement, self.why = requirement, why


@dataclass
class MachineRun:
    """What a machine found. `script` is the shrunk program, empty if nothing failed."""

    findings: list[Finding]
    examples: int
    script: list[dict[str, Any]] = field(default_factory=list)


class WorkerMachine(RuleBasedStateMachine):
    """Three agents, each a process, on one `worker` bus."""

    fleet: Fleet
    examples = 0
    script: list[dict[str, Any]]

    def __init__(self) -> None:
        super().__init__()
        cls = type(self)
        cls.examples += 1
        cls.script = []
        self.folder = Path(tempfile.mkdtemp(prefix="busproof-"))
        self.store = self.folder / "store"
        self.store.mkdir()
        self.recorder = Recorder(self.folder / "history.jsonl", run="machine", system=self.fleet.system)
        self.sessions: dict[str, Session] = {}
        self.log, self.cursors = LogModel(), CursorModel()
        self.leases, self.presence = LeaseModel(), PresenceModel()
        self.now_ms = T0_MS
        hello = self.fleet.hello
        self.has = {*hello.nouns, *hello.features, *(["clock"] if hello.clock == "manual" else [])}

    @initialize()
    def open_sessions(self) -> None:
        """Every agent opens the store."""
        for number, agent in enumerate(AGENTS):
            self._open(number, agent)

    def _open(self, number: int, agent: str) -> None:
        door = self.fleet.door(number % len(AGENTS), self.store, {})
        self.sessions[agent] = Session(door, self.recorder, process=number, agent=agent)
        if "clock" in self.has:
            self.sessions[agent].set_clock(self.now_ms)

    def call(self, agent: str, method: str, **params: Any) -> dict[str, Any]:
        """Call as an agent and remember it for the script."""
        type(self).script.append({"agent": agent, "method": method, "params": params})
        return self.sessions[agent].call(method, **params)

    def refused(self, agent: str, method: str, **params: Any) -> Refused | None:
        """The refusal of a call, or None."""
        try:
            self.call(agent, method, **params)
        except Refused as error:
            return error
        return None

    @staticmethod
    def must(requirement: str, good: bool, why: str) -> None:
        """Stop the example where the model is broken."""
        if not good:
            raise Violation(requirement, why)

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
        if own[0] == agent and own[1] > self.now_ms:
            return  # a holder's own second claim is a dialect (W9)
        reply = self.call(agent, "try_claim_task", task_id=task)
        wanted = self.leases.claim(task, agent, self.now_ms)
        self.must(
            LEASE_ROW, reply["claimed"] == wanted, f"{agent} claims {task}: {reply}, the model says {wanted}"
        )
        if wanted and isinstance(reply.get("token"), int):
            rises = self.leases.token_rises(task, reply["token"])
            self.must(
                LEASE_ROW, rises, f"a grant of {task} got token {reply['token']}, not above all before it"
            )

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
            self.must(
                LEASE_ROW,
                reply["renewed"] == wanted,
                f"{agent} renews {task}: {reply}, the model says {wanted}",
            )
        else:
            self.call(agent, op, task_id=task)
            self.leases.release(task, agent)

    @precondition(lambda self: "clock" in self.has)
    @rule(ms=st.sampled_from([1, 29_999, 30_000, 59_999, 60_000, 300_000]))
    def pass_time(self, ms: int) -> None:
        """On every session at once."""
        self.now_ms += ms
        for agent, session in self.sessions.items():
            type(self).script.append(
                {"agent": agent, "method": "clock.set", "params": {"now_ms": self.now_ms}}
            )
            session.set_clock(self.now_ms)

    @precondition(lambda self: {"presence", "clock"} <= self.has)
    @rule(agent=agents, status=st.sampled_from(["idle", "working", "blocked"]), other=agents)
    def heartbeat(self, agent: str, status: str, other: str) -> None:
        """And what another then sees of everybody."""
        self.call(agent, "heartbeat", status=status)
        self.presence.beats[agent] = (self.now_ms, status)
        seen = {
            row["agent_id"]: (row["age_ms"], row["state"]) for row in self.call(other, "liveness")["agents"]
        }
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
        session = self.sessions[agent]
        self.fleet.give_back(session.door, retired=is_crash)
        type(self).script.append({"agent": agent, "method": "restart", "params": {"kill": is_crash}})
        self._open(AGENTS.index(agent), agent)

    def teardown(self) -> None:
        """Give the doors back."""
        for session in self.sessions.values():
            self.fleet.give_back(session.door, retired=session.retired)
        self.recorder.close()
        shutil.rmtree(self.folder, ignore_errors=True)


ROWS = {"worker": (LOG_ROW, LEASE_ROW, EXPORT_ROW, PRESENCE_ROW)}


def run_worker(fleet: Fleet, profile: str = "pr", with_seed: int | None = None) -> MachineRun:
    """Play the machine under a profile; a failure is shrunk, and its script returned."""

    class Machine(WorkerMachine):
        """A class of its own for each run: it counts."""

    Machine.fleet, Machine.examples, Machine.script = fleet, 0, []
    test: type[RuleBasedStateMachine] = Machine
    chosen = settings(
        PROFILES[profile],
        deadline=None, database=None, print_blob=False, verbosity=Verbosity.quiet, report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate, Phase.target, Phase.shrink],
    )  # fmt: skip
    if with_seed is not None:
        test = seed(with_seed)(Machine)
    broken: Violation | None = None
    try:
        run_state_machine_as_test(test, settings=chosen)
    except Violation as error:
        broken = error
    except (Refused, Lost) as error:
        broken = Violation(LOG_ROW, f"a call that must succeed ended in {type(error).__name__}: {error}")
    examples = Machine.examples
    if broken is None:
        return MachineRun([Finding(row, True, "", 0) for row in ROWS["worker"]], examples)
    return MachineRun([Finding(broken.requirement, False, broken.why, 0)], examples, Machine.script)


MACHINES: dict[str, dict[str, Callable[[Fleet, str, int | None], MachineRun]]] = {
    "worker": {"machine.worker": run_worker}
}
