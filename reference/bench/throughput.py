"""Throughput side by side in one run: the reference against bare sqlite3, and against queues that people use.

    python reference/bench/throughput.py [--rounds 15]

Bare sqlite3 writes the same rows, prepared beforehand, into the same tables under the same pragmas; the reference
also checks, encodes and numbers what it is given. All queues run on WAL with synchronous = NORMAL (set on those whose
default differs: persist-queue, huey, simplebroker), all encode and decode JSON, one process, one thread.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import sqlite3
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from compare import describe, interleave, ratio, save, verdict

from refbus.worker.bus import WorkerBus
from refbus.worker.message import COLUMNS

PAYLOAD = {"branch": "worker-auth/skills-abc", "commit": "a1b2c3d4", "files": 12}
MESSAGE = {"to": "bob", "type": "task_done", "correlation_id": "skills-abc", "payload": PAYLOAD}
BATCH = 1000
PACKAGES = {"litequeue": "litequeue", "huey": "huey", "persistqueue": "persist-queue", "simplebroker": "simplebroker"}

INSERT = """
    INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# The same rows in the same order as the seed's query, written so that SQLite need not sort: the fastest bare SQL.
SELECT = """
    SELECT * FROM messages WHERE to_agent = :agent AND seq > :after
    UNION ALL
    SELECT * FROM messages WHERE to_agent IS NULL AND seq > :after
    ORDER BY seq LIMIT :limit
"""
# The seed's own query, which sorts everything unread.
SEED_SELECT = """
    SELECT * FROM messages WHERE seq > ? AND (to_agent IS NULL OR to_agent = ?) ORDER BY seq LIMIT ?
"""
ACK = """
    INSERT INTO cursors (agent_id, last_acked_seq, updated_at_ms) VALUES (?, ?, ?)
    ON CONFLICT (agent_id) DO UPDATE SET
        last_acked_seq = MAX(cursors.last_acked_seq, excluded.last_acked_seq),
        updated_at_ms = excluded.updated_at_ms
"""


class Bare:
    """The same tables and pragmas, nothing around them."""

    def __init__(self, folder: Path) -> None:
        WorkerBus(folder).close()
        self.connection = sqlite3.connect(folder / "bus.db", isolation_level=None)
        for pragma in ("busy_timeout = 5000", "foreign_keys = ON", "journal_mode = WAL", "synchronous = NORMAL"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.position = 0

    def rows(self, count: int) -> list[tuple[Any, ...]]:
        text = json.dumps(PAYLOAD)
        return [
            (str(uuid.uuid4()), 1768053600000, "alice", "bob", "task_done", "skills-abc", None, text, None)
            for _ in range(count)
        ]


def against_bare(folder: Path, rounds: int) -> dict[str, list[float]]:
    """Publish one, publish many, poll and acknowledge: ours and bare, the same number of rows in each file."""
    bus, bare = WorkerBus(_new(folder)), Bare(_new(folder))
    singles = BATCH

    def publish() -> int:
        for _ in range(singles):
            bus.publish("alice", MESSAGE)
        return singles

    pending: list[tuple[Any, ...]] = []

    def prepare() -> None:
        pending[:] = bare.rows(BATCH)

    def bare_publish() -> int:
        execute = bare.connection.execute
        for row in pending:
            execute(INSERT, row)
        return singles

    def publish_many() -> int:
        bus.publish_many("alice", [MESSAGE] * BATCH)
        return BATCH

    def bare_many() -> int:
        bare.connection.execute("BEGIN IMMEDIATE")
        bare.connection.executemany(INSERT, pending)
        bare.connection.execute("COMMIT")
        return BATCH

    def read() -> int:
        for _ in range(10):
            messages = bus.poll("bob", 100)["messages"]
            bus.ack("bob", messages[-1]["seq"])
        return 10

    seed_position = itertools.count(100, 100)

    def seed_read() -> int:
        for position, _ in zip(seed_position, range(10), strict=False):
            rows = bare.connection.execute(SEED_SELECT, (position, "bob", 100)).fetchall()
            bare.connection.execute(ACK, ("carol", rows[-1][0], 1768053600000))
        return 10

    def bare_read() -> int:
        for _ in range(10):
            rows = bare.connection.execute(SELECT, {"agent": "bob", "after": bare.position, "limit": 100}).fetchall()
            bare.position = rows[-1][0]
            bare.connection.execute(ACK, ("bob", bare.position, 1768053600000))
        return 10

    same_position = itertools.count(0, 100)

    def same_answer() -> int:
        for position, _ in zip(same_position, range(10), strict=False):
            rows = bare.connection.execute(SELECT, {"agent": "bob", "after": position, "limit": 100}).fetchall()
            messages = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
            for message in messages:
                message["payload"] = json.loads(message["payload"])
            bare.connection.execute(ACK, ("dave", messages[-1]["seq"], 1768053600000))
        return 10

    seconds = {}
    for name, ours, theirs in (
        ("publish", publish, bare_publish),
        ("publish_many", publish_many, bare_many),
        ("poll 100 + ack", read, bare_read),
    ):
        contestants = {name: ours, f"bare {name}": theirs}
        if ours is read:
            contestants[f"the seed's own SQL, {name}"] = seed_read
            contestants[f"bare {name} as dicts with decoded payloads"] = same_answer
        seconds |= interleave(contestants, rounds=rounds, before=prepare)
    bus.close()
    bare.connection.close()
    return seconds


def against_queues(folder: Path, rounds: int) -> dict[str, list[float]]:
    """Publish, read and acknowledge every message, end to end."""
    count = 500
    contestants: dict[str, Callable[[], int]] = {}
    closers: list[Callable[[], Any]] = []

    bus = WorkerBus(_new(folder))
    closers.append(bus.close)

    def refbus_single() -> int:
        for _ in range(count):
            bus.publish("alice", MESSAGE)
        left = count
        while left:
            for message in bus.poll("bob", 100)["messages"]:
                bus.ack("bob", message["seq"])
                left -= 1
        return count

    batches = WorkerBus(_new(folder))
    closers.append(batches.close)

    def refbus_batches() -> int:
        batches.publish_many("alice", [MESSAGE] * BATCH)
        messages = batches.poll("bob", BATCH)["messages"]
        batches.ack("bob", messages[-1]["seq"])
        return len(messages)

    bare = Bare(_new(folder))
    closers.append(bare.connection.close)

    def bare_single() -> int:
        for row in bare.rows(count):
            bare.connection.execute(INSERT, row)
        for _ in range(count // 100):
            for row in bare.connection.execute(
                SELECT, {"agent": "bob", "after": bare.position, "limit": 100}
            ).fetchall():
                bare.position = row[0]
                bare.connection.execute(ACK, ("bob", bare.position, 1768053600000))
        return count

    contestants["bare sqlite3, the seed's tables"] = bare_single
    contestants["refbus, one a transaction"] = refbus_single
    contestants[f"refbus, batches of {BATCH}"] = refbus_batches
    for name, make in (
        ("litequeue", _litequeue),
        ("huey SqliteStorage", _huey),
        ("persist-queue SQLiteAckQueue", _persist_queue),
        ("simplebroker", _simplebroker),
    ):
        put, take, close = make(_new(folder))
        closers.append(close)
        contestants[name] = _queue_round(put, take, count)
    seconds = interleave(contestants, rounds=rounds)
    for close in closers:
        close()
    return seconds


def _queue_round(put: Callable[[str], Any], take: Callable[[], str], count: int) -> Callable[[], int]:
    def play() -> int:
        for _ in range(count):
            put(json.dumps(MESSAGE))
        for _ in range(count):
            json.loads(take())
        return count

    return play


def _litequeue(folder: Path) -> tuple[Callable[[str], Any], Callable[[], str], Callable[[], Any]]:
    from litequeue import LiteQueue

    queue = LiteQueue(folder / "queue.db")  # WAL and NORMAL are its own defaults

    def take() -> str:
        message = queue.pop()
        queue.done(message.message_id)
        return str(message.data)

    return queue.put, take, queue.close


def _huey(folder: Path) -> tuple[Callable[[str], Any], Callable[[], str], Callable[[], Any]]:
    from huey.storage import SqliteStorage

    storage = SqliteStorage(filename=str(folder / "queue.db"))
    storage.conn.execute("PRAGMA synchronous = NORMAL")
    return (
        lambda text: storage.enqueue(text.encode()),
        lambda: bytes(storage.dequeue()).decode(),  # it has no acknowledgement: taking deletes
        storage.close,
    )


def _persist_queue(folder: Path) -> tuple[Callable[[str], Any], Callable[[], str], Callable[[], Any]]:
    from persistqueue import SQLiteAckQueue

    queue = SQLiteAckQueue(str(folder), auto_commit=True, multithreading=False)
    for connection in (queue._putter, queue._getter):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")

    def take() -> str:
        text = queue.get()
        queue.ack(text)
        return str(text)

    return queue.put, take, queue.close


def _simplebroker(folder: Path) -> tuple[Callable[[str], Any], Callable[[], str], Callable[[], Any]]:
    from simplebroker import Queue, resolve_config

    config = resolve_config(env={"BROKER_SYNC_MODE": "NORMAL"})
    queue = Queue("tasks", db_path=str(folder / "queue.db"), persistent=True, config=config)
    return queue.write, lambda: str(queue.read_one()), queue.close  # taking deletes


def _new(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))


def main() -> int:
    """Run, print a table, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--folder", type=Path, help="where the files are made (default: the system's temporary folder)")
    arguments = parser.parse_args()
    if missing := [name for module, name in PACKAGES.items() if find_spec(module) is None]:
        parser.error(f"it measures against packages that are not here: pip install {' '.join(missing)}")
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp(prefix="refbus-bench-", dir=arguments.folder))
    try:
        bare = against_bare(folder, arguments.rounds)
        queues = against_queues(folder, arguments.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    bars = []
    print(f"{'':32}{'ours µs':>10}{'bare µs':>10}{'ratio':>8}{'middle half':>16}{'bar':>7}")
    for name, bar in (("publish", 0.75), ("publish_many", 0.6), ("poll 100 + ack", 0.5)):
        ours, theirs = bare[name], bare[f"bare {name}"]
        figure = ratio(ours, theirs)
        bars.append({"name": name, **figure, "bar": bar, "verdict": verdict(figure["median"], bar)})
        print(
            f"{name:32}{describe(ours)['us']:10.1f}{describe(theirs)['us']:10.1f}{figure['median']:8.2f}"
            f"{figure['low']:9.2f}–{figure['high']:.2f}{bar:9.2f}  {bars[-1]['verdict']}"
        )
    figure = ratio(bare["poll 100 + ack"], bare["the seed's own SQL, poll 100 + ack"])
    print(f"poll 100 + ack is {figure['median']:.1f} × the seed's own SQL at the same place of the same log,")
    figure, bar = ratio(bare["poll 100 + ack"], bare["bare poll 100 + ack as dicts with decoded payloads"]), 1.0
    bars.append({"name": "poll as dicts", **figure, "bar": bar, "verdict": verdict(figure["median"], bar)})
    print(
        f"and {figure['median']:.2f} × the fastest SQL where its rows become dicts with decoded payloads, as ours do,"
    )
    print(f"bar {bar}: {bars[-1]['verdict']}")
    print(f"\n{'publish, read, acknowledge each':32}{'µs':>10}{'middle half':>18}{'a second':>12}")
    for name, seconds in queues.items():
        figure = describe(seconds)
        print(f"{name:32}{figure['us']:10.1f}{figure['us_low']:10.1f}–{figure['us_high']:.1f}{figure['per_s']:13.0f}")
    others = ("litequeue", "huey SqliteStorage", "persist-queue SQLiteAckQueue", "simplebroker")
    fastest = min(others, key=lambda name: describe(queues[name])["us"])
    acknowledging = min(("litequeue", "persist-queue SQLiteAckQueue"), key=lambda name: describe(queues[name])["us"])
    print()
    for name, bar in (("refbus, one a transaction", 1.3), (f"refbus, batches of {BATCH}", 5.0)):
        figure = ratio(queues[name], queues[fastest])
        print(f"{name}: {figure['median']:.2f} × {fastest} (fastest; no bar, decision 0010)")
        figure = ratio(queues[name], queues[acknowledging])
        bars.append(
            {"name": name, **figure, "to": acknowledging, "bar": bar, "verdict": verdict(figure["median"], bar)}
        )
        print(
            f"{name}: {figure['median']:.2f} × {acknowledging} (fastest that acknowledges), bar {bar}: "
            f"{bars[-1]['verdict']}"
        )
    ceiling = ratio(queues["bare sqlite3, the seed's tables"], queues[fastest])
    print(f"ceiling: bare sqlite3 on the seed's tables is {ceiling['median']:.2f} × {fastest}")
    save("throughput", {"bars": bars, "us": {n: describe(s) for n, s in {**bare, **queues}.items()}})
    return 0 if all(bar["verdict"] == "met" for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
