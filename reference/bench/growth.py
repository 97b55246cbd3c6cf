"""Growth: the cost of publish and poll with a million stored messages, against a thousand.

    python reference/bench/growth.py [--stored 1000000]

Both logs grow by the same rounds, interleaved. Half of the stored messages are for an agent that has read them all, so
the reader's place is at the end of a long log; the other half is unread by an agent that never came.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compare import describe, interleave, ratio, save, verdict

from refbus.worker.bus import WorkerBus

PAYLOAD = {"branch": "worker-auth/skills-abc", "commit": "a1b2c3d4", "files": 12}
SMALL = 1000
BAR = 1.3


def fill(folder: Path, stored: int) -> WorkerBus:
    """A log with so many messages, bob's cursor at its end."""
    bus = WorkerBus(folder)
    agents = [f"agent-{number}" for number in range(20)]
    for start in range(0, stored, 1000):
        bus.publish_many(
            agents[start // 1000 % 20],
            [
                {
                    "to": ("bob", "ghost")[number % 2],
                    "type": ("task_done", "task_progress", "review_request")[number % 3],
                    "correlation_id": f"task-{(start + number) // 10}",
                    "payload": PAYLOAD,
                }
                for number in range(1000)
            ],
        )
        if start % 100_000 == 0 and sys.stderr.isatty():
            print(f"\r{start:>9} of {stored}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r" + " " * 24 + "\r", end="", file=sys.stderr)
    bus.ack("bob", stored)
    bus.db.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    return bus


def publishing(bus: WorkerBus) -> Callable[[], int]:
    """300 messages, one a transaction."""

    def play() -> int:
        for number in range(300):
            bus.publish(
                "alice", {"to": "bob", "type": "task_done", "correlation_id": f"t-{number}", "payload": PAYLOAD}
            )
        return 300

    return play


def polling(bus: WorkerBus) -> Callable[[], int]:
    """300 polls of 100 messages at the end of the log."""

    def play() -> int:
        for _ in range(300):
            assert len(bus.poll("bob", 100)["messages"]) == 100
        return 300

    return play


def bare_publishing(bus: WorkerBus) -> Callable[[], int]:
    """The same rows by bare sqlite3, prepared beforehand: the cost of the seed's five indexes alone."""
    connection = bus.db.connection()
    text = json.dumps(PAYLOAD)

    def play() -> int:
        for number in range(300):
            values = (str(uuid.uuid4()), 1768053600000, "alice", "bob", "task_done", f"t-{number}", None, text, None)
            connection.execute(INSERT, values)
        return 300

    return play


INSERT = """
    INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def main() -> int:
    """Run, print a table, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stored", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--folder", type=Path, help="where the files are made (default: the system's temporary folder)")
    arguments = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="refbus-bench-", dir=arguments.folder))
    figures: list[dict[str, Any]] = []
    try:
        (root / "small").mkdir()
        (root / "large").mkdir()
        small, large = fill(root / "small", SMALL), fill(root / "large", arguments.stored)
        print(f"{'':12}{SMALL:>12}{arguments.stored:>12}  µs, ratio and its middle half")
        actions = (("publish", publishing), ("poll 100", polling), ("bare insert", bare_publishing))
        for name, action in actions:
            seconds = interleave({"small": action(small), "large": action(large)}, rounds=arguments.rounds)
            times = ratio(seconds["small"], seconds["large"])  # how many times as long the large one takes
            print(
                f"{name:12}{describe(seconds['small'])['us']:12.1f}{describe(seconds['large'])['us']:12.1f}"
                f"{times['median']:8.2f} {times['low']:.2f}–{times['high']:.2f}",
                end="",
            )
            figures.append({"name": name, **times, "bar": BAR})
            if action is bare_publishing:
                print("  for comparison")
                continue
            figures[-1]["verdict"] = verdict(times["median"], BAR, at_least=False)
            print(f"  bar {BAR}: {figures[-1]['verdict']}")
        small.close()
        large.close()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    save("growth", {"stored": [SMALL, arguments.stored], "bars": figures})
    return 0 if all(figure.get("verdict", "met") == "met" for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
