"""Latency: from before `send_message` in one process to the answer of a waiting `receive_messages` in another.

Each message over the bus is followed by one over a pipe between the same two processes: the floor of any way to wake
a process. The waiting receiver's processor time is taken over idle-s seconds in which nothing is sent.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

from comms_floor import UNLIMITED
from compare import verdict
from crew import Stalled, context, crew, is_wanted

from refbus.comms.bus import CommsBus

WAIT_S = 30.0


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Send, wait, compare."""
    ours, theirs = context.Pipe()
    broken: list[str] = []
    late_ns: list[int] = []
    with crew() as members, CommsBus(folder, **UNLIMITED) as bus:
        for number in range(arguments.waiting):
            members.start(_wait, str(folder), f"waiting-{number}")
        members.start(_receive, str(folder), arguments.messages, arguments.idle_s, theirs)
        print(f"bob waits for {arguments.idle_s:g} s in which nothing is sent", flush=True)
        try:
            _answer(ours, arguments.idle_s + WAIT_S)
            for number in range(arguments.messages):
                # Distances of 10 to 30 ms, so that the receiver sleeps in all its ways.
                time.sleep(0.010 + number * 7 % 20 / 1000)
                bus.send_message("alice", "bob", "ping", {"sent_ns": time.monotonic_ns()})
                time.sleep(0.010)
                ours.send(time.monotonic_ns())
            late_ns, piped_ns, busy = _answer(ours, WAIT_S)
        except Stalled as error:
            broken.append(str(error))
    if len(late_ns) != arguments.messages:
        broken.append(f"{len(late_ns)} of {arguments.messages} messages arrived")
        return {}, broken
    return _tell(late_ns, piped_ns, busy, arguments), broken


def _receive(root: str, messages: int, idle_s: float, pipe: Any) -> None:
    """Bob's process: first idle, then a message and a word over the pipe, in turns."""
    late_ns, piped_ns = [], []
    with CommsBus(root) as bus:
        before_s = time.process_time()
        bus.receive_messages("bob", ["general"], timeout_seconds=idle_s)
        busy = (time.process_time() - before_s) / idle_s
        pipe.send("ready")
        while len(late_ns) < messages:  # a receiver that was late finds two at once
            received = bus.receive_messages("bob", ["general"], timeout_seconds=WAIT_S)["messages"]
            now_ns = time.monotonic_ns()
            if not received:
                raise Stalled("nothing came")
            for message in received:
                late_ns.append(now_ns - message["payload"]["sent_ns"])
                bus.claim_message("bob", message["id"])
                bus.complete_message(message["id"])
                sent_ns = pipe.recv()
                piped_ns.append(time.monotonic_ns() - sent_ns)
    pipe.send((late_ns, piped_ns, busy))


def _wait(root: str, agent: str) -> None:
    """Another agent, woken by everything that is written and shown nothing."""
    with CommsBus(root) as bus:
        while is_wanted():
            bus.receive_messages(agent, ["general"], timeout_seconds=WAIT_S)


def _answer(pipe: Any, limit_s: float) -> Any:
    if not pipe.poll(limit_s):
        raise Stalled(f"the receiver did not answer in {limit_s:g} s")
    return pipe.recv()


def _tell(late_ns: list[int], piped_ns: list[int], busy: float, arguments: argparse.Namespace) -> dict[str, Any]:
    late, piped = _quantiles(late_ns), _quantiles(piped_ns)
    print(
        f"{arguments.messages} messages, {arguments.waiting} other agents waiting\n{'':10}{'bus ms':>10}{'pipe ms':>10}"
    )
    for name in late:
        print(f"{name:10}{late[name]:10.3f}{piped[name]:10.3f}{late[name] / piped[name]:8.1f} × the pipe")
    for bar, whose in ((10.0, "the seed's"), (3.0, "ours")):
        print(f"p95 {late['p95']:.2f} ms, bar {bar:g} ({whose}): {verdict(late['p95'], bar, at_least=False)}")
    percent = busy * 100
    print(f"idle, waiting: {percent:.2f} % of a core, bar 1 %: {verdict(percent, 1.0, at_least=False)}")
    return {
        "messages": arguments.messages,
        "waiting": arguments.waiting,
        "bus_ms": late,
        "pipe_ms": piped,
        "idle_percent_of_a_core": percent,
    }


def _quantiles(late_ns: list[int]) -> dict[str, float]:
    cuts = statistics.quantiles([late / 1e6 for late in late_ns], n=100, method="inclusive")
    return {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "max": max(late_ns) / 1e6}
