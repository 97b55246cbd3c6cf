"""Wake-up: from the sender's call to the waiting reader's reply, two server processes, a client process for each.

After each message the sender pings its server. A message goes from a client to its server and from a server to its
client, as a ping does, with the bus in between: the ping is the floor, and the rest is the bus's.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from compare import verdict
from crew import Stalled, context, crew
from topics_doors import crowd, door

WAIT_S = 60
ANSWER_S = 120.0


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Send, wait, compare."""
    store = folder / "store"
    store.mkdir()
    ours, theirs = context.Pipe()
    with contextlib.ExitStack() as ends:
        if arguments.waiting:
            ends.enter_context(crowd(store, max(1, arguments.waiting // 20), min(20, arguments.waiting), 3600))
        sender, members = ends.enter_context(door(store)), ends.enter_context(crew())
        topic_id = sender.call("topic_create", {"name": "lane"})["topic_id"]
        sender.call("topic_join", {"topic_id": topic_id, "agent_name": "alice"})
        members.start(_wait, store, topic_id, arguments.messages, theirs)
        _answer(ours)
        ping_ns = []
        for number in range(arguments.messages):
            # Distances of 20 to 40 ms, so that the reader sleeps in all its ways.
            time.sleep(0.010 + number * 7 % 20 / 1000)
            item = {"content_markdown": "wake up", "metadata": {"sent_ns": time.monotonic_ns()}}
            sender.call("sync", {"topic_id": topic_id, "outbox": [item], "wait_seconds": 0})
            time.sleep(0.010)
            asked_ns = time.monotonic_ns()
            sender.call("ping", {})
            ping_ns.append(time.monotonic_ns() - asked_ns)
            if number % 100 == 99:
                print(f"\r{number + 1} of {arguments.messages} ", end="", file=sys.stderr, flush=True)
        late_ns = _answer(ours)
        members.join()
    broken = [] if len(late_ns) == arguments.messages else [f"{len(late_ns)} messages arrived"]
    return _tell(late_ns, ping_ns, arguments), broken


def _wait(store: Path, topic_id: str, messages: int, pipe: Any) -> None:
    """The reader's process: one sync after the other."""
    late_ns: list[int] = []
    with door(store) as reader:
        reader.call("topic_join", {"topic_id": topic_id, "agent_name": "bob"})
        pipe.send("ready")
        while len(late_ns) < messages:
            sync = {"topic_id": topic_id, "wait_seconds": WAIT_S}
            received = reader.call("sync", sync, timeout_s=WAIT_S + 30)["received"]
            now_ns = time.monotonic_ns()
            late_ns += [now_ns - message["metadata"]["sent_ns"] for message in received]
            if not received:
                break
    pipe.send(late_ns)


def _answer(pipe: Any) -> Any:
    if not pipe.poll(ANSWER_S):
        raise Stalled(f"the reader did not answer in {ANSWER_S:g} s")
    return pipe.recv()


def _tell(late_ns: list[int], ping_ns: list[int], arguments: argparse.Namespace) -> dict[str, Any]:
    late, ping = quantiles(late_ns), quantiles(ping_ns)
    print(f"\r{len(late_ns)} messages, {arguments.waiting} other syncs waiting")
    print(f"{'':10}{'sync ms':>10}{'ping ms':>10}")
    for name in late:
        print(f"{name:10}{late[name]:10.2f}{ping[name]:10.2f}{late[name] / ping[name]:8.1f} × the ping")
    for name, bar in (("p50", 5.0), ("p99", 25.0)):
        print(f"{name} {late[name]:.2f} ms, bar {bar:g}: {verdict(late[name], bar, at_least=False)}")
    return {"messages": len(late_ns), "waiting": arguments.waiting, "sync_ms": late, "ping_ms": ping}


def quantiles(late_ns: list[int]) -> dict[str, float]:
    """Milliseconds: the median, the tail and the worst."""
    cuts = statistics.quantiles([late / 1e6 for late in late_ns], n=100, method="inclusive")
    return {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "max": max(late_ns) / 1e6}
