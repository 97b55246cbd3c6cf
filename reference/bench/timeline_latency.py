"""Latency: from before `send` in one process to the end of a waiting `fetch` in another."""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

from compare import verdict
from crew import Stalled, context, crew
from timeline_store import SERVICE, request, store

from refbus.timeline.bus import TimelineBus

WAIT_MS = 30_000
BAR_MS = 2.0


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Each backend in turn."""
    figures: dict[str, Any] = {}
    broken: list[str] = []
    print(f"{'backend':8}{'p50 ms':>9}{'p95':>9}{'p99':>9}{'max':>9}")
    for backend in arguments.backends:
        with store(folder / backend, backend) as place, TimelineBus(place) as bus, crew() as members:
            ours, theirs = context.Pipe()
            members.start(_receive, str(place), arguments.messages, theirs)
            theirs.close()  # so that the end of its process is the end of the pipe
            ours.recv()
            for number in range(arguments.messages):
                time.sleep(0.005 + number * 7 % 10 / 1000)  # so that the receiver sleeps in all its ways
                bus.send(request("main", "s", number), {"sent_ns": time.monotonic_ns()})
            if not ours.poll(WAIT_MS / 1000):
                broken.append(f"{backend}: the receiver did not answer")
                continue
            late_ns = ours.recv()
        if len(late_ns) != arguments.messages:
            broken.append(f"{backend}: {len(late_ns)} of {arguments.messages} arrived")
        cuts = statistics.quantiles([late / 1e6 for late in late_ns], n=100, method="inclusive")
        p50, p95, p99, most = cuts[49], cuts[94], cuts[98], max(late_ns) / 1e6
        figures[backend] = {"p50": p50, "p95": p95, "p99": p99, "max": most}
        bar = f"  bar {BAR_MS:g}: {verdict(p50, BAR_MS, at_least=False)}" if backend == "sqlite" else ""
        print(f"{backend:8}{p50:9.2f}{p95:9.2f}{p99:9.2f}{most:9.2f}{bar}", flush=True)
    return {"messages": arguments.messages, "ms": figures}, broken


def _receive(folder: str, messages: int, pipe: Any) -> None:
    late_ns = []
    with TimelineBus(Path(folder)) as bus:
        bus.fetch(SERVICE)
        pipe.send("ready")
        for _ in range(messages):
            message = bus.fetch(SERVICE, wait_ms=WAIT_MS)["message"]
            now_ns = time.monotonic_ns()
            if message is None:
                raise Stalled("nothing came")
            late_ns.append(now_ns - message["payload"]["sent_ns"])
            bus.ack(message["delivery"])
    pipe.send(late_ns)
