"""Wake-up: from `publish` in one process to the handler in another, on a bus that is otherwise idle.

    python reference/bench/wakeup.py [--messages 500] [--idle-s 10] [--blind]

The time runs from before the call of publish to the first line of the handler, on the machine's monotonic clock.
The idle reader's processor time is taken over idle-s seconds in which nothing is published. `--blind` takes inotify
away, to show what readers on other systems get.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import statistics
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from compare import save, verdict

from refbus.kernel import wake
from refbus.worker.bus import WorkerBus
from refbus.worker.loop import Loop


def read(store: str, idle_s: float, is_blind: bool, pipe: Connection) -> None:
    """The reader's process: first idle, then handling until it is told to stop."""
    if is_blind:
        wake._watch = lambda folder: None  # type: ignore[assignment]
    late_ns: list[int] = []
    with WorkerBus(store) as bus:

        def handler(message: dict[str, Any]) -> None:
            now_ns = time.monotonic_ns()
            if message["type"] == "stop":
                loop.stop()
            else:
                late_ns.append(now_ns - message["payload"])

        loop = Loop(bus, "bob", handler)
        thread = threading.Thread(target=loop.run)
        thread.start()
        time.sleep(3)  # let the pauses grow to their full length
        before_s = time.process_time()
        time.sleep(idle_s)
        busy = (time.process_time() - before_s) / idle_s
        pipe.send("ready")
        thread.join()
    pipe.send((late_ns, busy))


def main() -> int:
    """Run, print, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--idle-s", type=float, default=10.0)
    parser.add_argument("--blind", action="store_true", help="without inotify")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="refbus-bench-")
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    try:
        with WorkerBus(Path(folder)) as bus:
            reader = context.Process(target=read, args=(folder, arguments.idle_s, arguments.blind, theirs))
            reader.start()
            ours.recv()
            for number in range(arguments.messages):
                # Distances of 10 to 30 ms, so that the reader sleeps in all its ways.
                time.sleep(0.010 + number * 7 % 20 / 1000)
                bus.publish("alice", {"to": "bob", "type": "ping", "payload": time.monotonic_ns()})
            bus.publish("alice", {"to": "bob", "type": "stop"})
            late_ns, busy = ours.recv()
            reader.join()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    late_ms = sorted(late / 1e6 for late in late_ns)
    figures = {
        "messages": len(late_ms),
        "is_blind": arguments.blind,
        "p50_ms": statistics.median(late_ms),
        "p99_ms": late_ms[int(len(late_ms) * 0.99)],
        "max_ms": late_ms[-1],
        "idle_percent_of_a_core": busy * 100,
    }
    bars = [("p50_ms", 2.0), ("p99_ms", 10.0), ("idle_percent_of_a_core", 1.0)]
    print(f"{figures['messages']} messages, slowest {figures['max_ms']:.2f} ms")
    for name, bar in bars:
        print(f"{name:24}{figures[name]:10.3f}   bar {bar:g}: {verdict(figures[name], bar, at_least=False)}")
    save("wakeup-blind" if arguments.blind else "wakeup", figures)
    return 0 if all(figures[name] <= bar for name, bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
