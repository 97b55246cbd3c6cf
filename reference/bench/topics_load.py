"""Eight sessions on the same eight topics, all of them senders and readers, each through a server process of its own.

The issue's "8 server processes × 8 topics × 10,000 messages at once" is read as 10,000 messages in each topic, an
eighth of them from every session; so each session reads 8 × 8,750 messages of others. A session has one thread for
each topic: its server has eight syncs to answer at any time, and all servers write one file.

The bench judges the seqs that senders were told and readers received, and the file; with a history the kit's checks
judge every single call as well. A DB_BUSY is a fault: nobody holds the lock for longer than the time-out.
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crew import Crew, Stalled, Watch, context, crew, is_wanted
from topics_doors import SERVER

from busproof.bus.base import Refused
from busproof.bus.mcp import McpDoor
from busproof.bus.session import Session
from busproof.contract.history import Recorder, merge, scan
from busproof.contract.topics import DB_NAME
from busproof.oracle.checks import overall
from busproof.systems import run_checks
from refbus.topics.bus import TopicsBus

WAIT_S = 5
TIMEOUT_S = 120.0  # of a call: a slow machine is no fault
BODY = "x" * 200


@dataclass(frozen=True)
class Plan:
    """How much each session sends, and where."""

    store: Path
    topics: list[str]
    sessions: int
    own: int  # messages of each session on each topic
    outbox: int
    parts: Path | None  # where histories are recorded

    @property
    def messages(self) -> int:
        """On each topic."""
        return self.own * self.sessions


@dataclass
class Told:
    """The replies to one session's thread on its topic."""

    sent: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    busy: int = 0


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Play, judge, tell."""
    store = folder / "store"
    store.mkdir()
    with TopicsBus(store / DB_NAME) as bus:
        topics = [bus.topic_create(f"lane-{number}")["topic_id"] for number in range(arguments.topics)]
    own = max(1, arguments.messages // arguments.sessions)
    parts = folder if arguments.history else None
    plan = Plan(store, topics, arguments.sessions, own, arguments.outbox, parts)
    try:
        took_s, replies = _play(plan)
    except Stalled as error:
        return {}, [str(error)]
    broken = _judge(plan, replies) + _judge_file(plan)
    if arguments.history:
        broken += _judge_history(plan, arguments.history)
    return _tell(plan, took_s), broken


def _play(plan: Plan) -> tuple[float, list[list[Told]]]:
    """Seconds from the first send to the last receipt, and the replies to each session on each topic."""
    with crew() as members:
        pipes = []
        for number in range(plan.sessions):
            ours, theirs = context.Pipe()
            members.start(_session, number, plan, theirs)
            pipes.append(ours)
        for pipe in pipes:
            if not pipe.poll(TIMEOUT_S):
                raise Stalled(f"a session has not joined in {TIMEOUT_S:g} s")
            pipe.recv()
        start = time.monotonic()
        for pipe in pipes:
            pipe.send("go")
        _watch(plan, members)
        replies = [pipe.recv() for pipe in pipes]
        took_s = time.monotonic() - start
        members.join()
    return took_s, replies


def _watch(plan: Plan, members: Crew) -> None:
    """Wait until every cursor stands at the end of its topic."""
    total = plan.messages * len(plan.topics) * plan.sessions
    watch = Watch("passed by cursors", total)
    with contextlib.closing(sqlite3.connect(plan.store / DB_NAME)) as file:
        while (passed := file.execute("SELECT coalesce(sum(last_seq), 0) FROM cursors").fetchone()[0]) < total:
            watch.see(passed)
            members.check()
            time.sleep(0.5)
    watch.close()


# -- a session's process


def _session(number: int, plan: Plan, pipe: Any) -> None:
    """A thread for each topic on one server."""
    name = f"agent-{number}"
    with contextlib.closing(McpDoor(SERVER)) as door, _recorded(plan, number) as recorder:
        door.get_ready("topics")
        door.call("open", {"store": str(plan.store)})
        lanes = []
        for place, topic_id in enumerate(plan.topics):
            # A history's process does one thing at a time, so each thread is one.
            call = _caller(door, recorder, number * len(plan.topics) + place, name)
            call("topic_join", topic_id=topic_id, agent_name=name)
            lanes.append((call, topic_id, name, plan))
        pipe.send("ready")
        pipe.recv()
        with ThreadPoolExecutor(len(lanes)) as threads:
            replies = list(threads.map(_lane, *zip(*lanes, strict=True)))
    pipe.send(replies)


def _lane(call: Any, topic_id: str, name: str, plan: Plan) -> Told:
    """Send an outbox, receive until there is no more, send the next."""
    lane, outboxes = Told(), _outboxes(name, plan)
    outbox = next(outboxes)
    while (outbox or len(lane.received) < plan.messages - plan.own) and is_wanted():
        try:
            reply = call("sync", topic_id=topic_id, outbox=outbox, wait_seconds=0 if outbox else WAIT_S)
        except Refused as error:
            if error.code != "DB_BUSY":
                print(f"\n{name} on {topic_id}: {error}", file=sys.stderr)
                raise
            lane.busy += 1
            continue
        lane.sent += [record["message"]["seq"] for record in reply["sent"]]
        lane.received += [message["seq"] for message in reply["received"]]
        outbox = [] if reply["has_more"] else next(outboxes, [])
    return lane


def _outboxes(name: str, plan: Plan) -> Iterator[list[dict[str, Any]]]:
    items = [{"content_markdown": BODY, "client_message_id": f"{name}-{n}"} for n in range(plan.own)]
    for start in range(0, plan.own, plan.outbox):
        yield items[start : start + plan.outbox]


@contextlib.contextmanager
def _recorded(plan: Plan, number: int) -> Iterator[Recorder | None]:
    if plan.parts is None:
        yield None
        return
    file = plan.parts / f"part-{number:03}.jsonl"
    with contextlib.closing(Recorder(file, run="bench-load", system="topics", header={})) as recorder:
        yield recorder


def _caller(door: McpDoor, recorder: Recorder | None, process: int, name: str) -> Any:
    """How calls are made: straight, or through a session that writes each of them down."""
    if recorder is None:
        return lambda method, **params: door.call(method, params, timeout_s=TIMEOUT_S)
    session = Session(door, recorder, process=process, agent=name)
    return lambda method, **params: session.call(method, timeout_s=TIMEOUT_S, **params)


# -- judging


def _judge(plan: Plan, replies: list[list[Told]]) -> list[str]:
    """The faults, by the replies to the sessions."""
    every = set(range(1, plan.messages + 1))
    counts = dict.fromkeys(("seqs wrong", "messages lost", "doubled", "of nobody", "out of order", "DB_BUSY"), 0)
    for lanes in zip(*replies, strict=True):  # of one topic
        seqs = [seq for lane in lanes for seq in lane.sent]
        counts["seqs wrong"] += len(every.symmetric_difference(seqs)) + len(seqs) - len(set(seqs))
        for lane in lanes:
            received, due = set(lane.received), every.difference(lane.sent)
            counts["messages lost"] += len(due - received)
            counts["of nobody"] += len(received - due)
            counts["doubled"] += len(lane.received) - len(received)
            counts["out of order"] += lane.received != sorted(lane.received)
            counts["DB_BUSY"] += lane.busy
    return [f"{what}: {count}" for what, count in counts.items() if count]


def _judge_file(plan: Plan) -> list[str]:
    """Dense from 1 in every topic, and sound."""
    with contextlib.closing(sqlite3.connect(plan.store / DB_NAME)) as file:
        rows = file.execute("SELECT topic_id, count(*), min(seq), max(seq) FROM messages GROUP BY topic_id")
        stored = {topic_id: figures for topic_id, *figures in rows}
        (integrity,) = file.execute("PRAGMA integrity_check").fetchone()
    broken = [
        f"topic {topic_id} holds (count, first, last) {stored.get(topic_id)}"
        for topic_id in plan.topics
        if stored.get(topic_id) != [plan.messages, 1, plan.messages]
    ]
    return broken if integrity == "ok" else [*broken, f"integrity: {integrity}"]


def _judge_history(plan: Plan, history: Path) -> list[str]:
    """The final state goes in as it stands in the file; then the kit judges."""
    with contextlib.closing(sqlite3.connect(plan.store / DB_NAME)) as file:
        file.row_factory = sqlite3.Row
        state = [dict(row) for row in file.execute(_DUMP)]
    with _recorded(plan, 999) as recorder:
        assert recorder is not None
        dump = {"process": plan.sessions * len(plan.topics), "op": "dump", "agent": "auditor"}
        recorder.record("invoke", **dump, value={})
        recorder.record("ok", **dump, value={"messages": state})
    assert plan.parts is not None
    print("merging the history", file=sys.stderr, flush=True)
    events = merge(sorted(plan.parts.glob("part-*.jsonl")), history)
    print(f"history: {events} events in {history}; the kit's checks judge it", flush=True)
    verdicts = run_checks(scan(history))
    for verdict in verdicts:
        print(f"  {verdict.check:20} {verdict.verdict:8} {verdict.counted} operations {verdict.reason}")
        for witness in verdict.witnesses[:5]:
            print(f"    {witness.why} (events {witness.events})")
    return [] if overall(verdicts) == "valid" else [f"the history is {overall(verdicts)}"]


_DUMP = "SELECT topic_id, seq, message_id, sender, client_message_id FROM messages ORDER BY topic_id, seq"


def _tell(plan: Plan, took_s: float) -> dict[str, Any]:
    sent = plan.messages * len(plan.topics)
    received = sent * (plan.sessions - 1)
    print(
        f"{plan.sessions} servers, {len(plan.topics)} topics of {plan.messages} messages, outboxes of {plan.outbox}: "
        f"{took_s:.1f} s, {sent / took_s:,.0f} sent and {received / took_s:,.0f} received a second"
    )
    return {
        "sessions": plan.sessions,
        "topics": len(plan.topics),
        "messages_per_topic": plan.messages,
        "outbox": plan.outbox,
        "seconds": took_s,
        "sent": sent,
        "received": received,
    }
