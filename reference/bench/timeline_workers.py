"""Throughput: requests that wait, and so many worker processes of one service, whose call takes 5 ms.

The requests are spread over so many timelines, which have begun before, and are sent before the workers begin. So
only the workers are measured, from the moment when all are ready until the last answer is on record.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from pathlib import Path
from typing import Any

from compare import verdict
from crew import Stalled, Watch, context, crew, is_wanted
from timeline_store import ANSWER, PAYLOAD, SERVICE, request, store

from refbus.kernel.errors import BusError
from refbus.timeline import worker
from refbus.timeline.bus import TimelineBus

BAR = 2.5


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Each backend with each number of timelines and of workers."""
    figures: list[dict[str, Any]] = []
    broken: list[str] = []
    print(f"{'backend':8}{'timelines':>10}{'workers':>9}{'requests/s':>12}{'× one':>8}")
    for backend in arguments.backends:
        for timelines in arguments.timelines:
            alone = 0.0
            for workers in arguments.workers:
                place = folder / f"{backend}-{timelines}-{workers}"
                try:
                    per_s = _measure(place, backend, timelines, workers, arguments)
                except Stalled as error:
                    broken.append(f"{backend}, {timelines} timelines, {workers} workers: {error}")
                    continue
                alone = alone or per_s
                row = {"backend": backend, "timelines": timelines, "workers": workers, "per_s": per_s}
                print(f"{backend:8}{timelines:10}{workers:9}{per_s:12.0f}{per_s / alone:8.2f}", end="")
                if workers == 3 and arguments.workers[0] == 1:
                    row["verdict"] = verdict(per_s / alone, BAR)
                    print(f"  bar {BAR}: {row['verdict']}", end="")
                print(flush=True)
                figures.append(row)
    return {"call_ms": arguments.call_ms, "requests": arguments.requests, "rows": figures}, broken


def _measure(place: Path, backend: str, timelines: int, workers: int, arguments: argparse.Namespace) -> float:
    with store(place, backend) as folder, TimelineBus(folder) as bus:
        for number in range(timelines):
            bus.send({**request(f"t{number}", "begin", 0), "service": "other"}, PAYLOAD)
        for number in range(arguments.requests):
            bus.send(request(f"t{number * 7919 % timelines}", "s", number), PAYLOAD)
        ready, done, go = context.Semaphore(0), context.Value("i", 0), context.Event()
        with crew() as members:
            for _ in range(workers):
                members.start(_work, str(folder), arguments.call_ms / 1000, ready, go, done)
            for _ in range(workers):
                if not ready.acquire(timeout=60):
                    raise Stalled("a worker did not start")
            began = time.perf_counter()
            go.set()
            watch = Watch(backend, arguments.requests)
            while done.value < arguments.requests:
                watch.see(done.value)
                members.check()
                time.sleep(0.002)
            took = time.perf_counter() - began
            watch.close()
        answered = sum(row["number"] for row in bus.timelines()["timelines"])
        if answered != timelines + 2 * arguments.requests:
            raise Stalled(f"{answered} messages are on record, not {timelines + 2 * arguments.requests}")
    return float(arguments.requests / took)


def _work(folder: str, call_s: float, ready: Any, go: Any, done: Any) -> None:
    """One worker process: each answer takes so long, as a call of a model would."""

    def answer(_: worker.Message) -> object:
        time.sleep(call_s)
        return ANSWER

    with TimelineBus(Path(folder)) as bus:
        member = worker.Worker(bus, SERVICE, lambda message: (answer(message), None))
        ready.release()
        go.wait()
        while is_wanted():
            with contextlib.suppress(BusError):
                if member.step(1_000):
                    with done.get_lock():
                        done.value += 1
