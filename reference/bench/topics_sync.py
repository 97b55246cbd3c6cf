"""A sync of 20 messages beside the bare SQL of one, and in a topic of a million messages beside one of a thousand.

Bare SQL is the least that a program which keeps to the seed must do, written by hand: is the topic open, where does the
cursor stand, the messages, the cursor's new place, one transaction, and no check of anything. Same file, same
connection. It returns rows, but a reader wants messages, so bare SQL that makes each row a dict, and no more, runs as
well. It inserts row by row, as one does by hand; the figures with all rows in one statement, as in the bus, are told.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path
from typing import Any

from compare import describe, interleave, ratio, verdict

from refbus.topics.bus import TopicsBus
from refbus.topics.message import COLUMNS

SMALL, BATCH, SYNCS = 1000, 20, 20
BAR = 1.3
BODY = "x" * 200
OUTBOX = [{"content_markdown": BODY} for _ in range(BATCH)]
TIME = 1768053600.0


class Lane:
    """A topic with so many messages, and bob, who has read all but the newest 400 of them."""

    def __init__(self, file: Path, stored: int) -> None:
        self.stored, self.bus = stored, TopicsBus(file)
        self.topic_id = self.bus.topic_create("lane")["topic_id"]
        self.bus.topic_join("bob", self.topic_id)
        self.bus.sync(self.topic_id, wait_seconds=0)
        self.connection = self.bus.store.db.connection()
        self._fill()
        self.reset()

    def _fill(self) -> None:
        """The indexes of a million messages are filled in memory, and not in the cache that a session has."""
        (cache,) = self.connection.execute("PRAGMA cache_size").fetchone()
        self.connection.execute("PRAGMA cache_size = -500000")
        for start in range(1, self.stored + 1, 1000):
            seqs = range(start, min(start + 1000, self.stored + 1))
            self.connection.execute("BEGIN")
            self.connection.executemany(_FILL, [self._row(seq, "alice") for seq in seqs])
            self.connection.execute("COMMIT")
            if start % 100_000 == 1:
                print(f"\r{start - 1:>9} of {self.stored}", end="", file=sys.stderr)
        print("\r" + " " * 24 + "\r", end="", file=sys.stderr)
        self.connection.execute(f"PRAGMA cache_size = {cache}")

    def _row(self, seq: int, sender: str) -> tuple[Any, ...]:
        """The ids rise with time, as the bus's own do."""
        return (f"{seq:010x}", self.topic_id, seq, sender, BODY, TIME)

    def reset(self) -> None:
        """As it was before the last round."""
        self.connection.execute("DELETE FROM messages WHERE topic_id = ? AND seq > ?", (self.topic_id, self.stored))
        self.connection.execute(_SET_NEXT, (self.topic_id, self.stored + 1, TIME))
        self.connection.execute("UPDATE cursors SET last_seq = ?", (self.stored - BATCH * SYNCS,))
        self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    # -- contestants: so many syncs of 20

    def receive(self) -> int:
        """By the bus."""
        for _ in range(SYNCS):
            assert self.bus.sync(self.topic_id, wait_seconds=0)["received_count"] == BATCH
        return SYNCS

    def send(self) -> int:
        """By the bus, to a reader who has read all."""
        self.connection.execute("UPDATE cursors SET last_seq = ?", (self.stored,))
        for _ in range(SYNCS):
            assert len(self.bus.sync(self.topic_id, OUTBOX, wait_seconds=0)["sent"]) == BATCH
        return SYNCS

    def bare_receive(self) -> int:
        """By hand."""
        for _ in range(SYNCS):
            self._bare_rows()
        return SYNCS

    def dicts_receive(self) -> int:
        """By hand, and rows become dicts."""
        for _ in range(SYNCS):
            _ = [dict(zip(COLUMNS, row, strict=True)) for row in self._bare_rows()]
        return SYNCS

    def _bare_rows(self) -> list[tuple[Any, ...]]:
        self._begin()
        (after,) = self.connection.execute(_CURSOR, (self.topic_id, "bob")).fetchone()
        rows = self.connection.execute(_UNREAD, (self.topic_id, after, "bob")).fetchall()
        assert len(rows) == BATCH
        self._end(rows[-1][2])
        return rows

    def bare_send(self) -> int:
        """By hand."""
        return self._bare_send(lambda rows: self.connection.executemany(_FILL, rows))

    def one_insert_send(self) -> int:
        """By hand, and all rows in one statement."""
        return self._bare_send(lambda rows: self.connection.execute(_FILL_BATCH, list(chain.from_iterable(rows))))

    def _bare_send(self, insert: Callable[[list[tuple[Any, ...]]], object]) -> int:
        self.connection.execute("UPDATE cursors SET last_seq = ?", (self.stored,))
        for _ in range(SYNCS):
            self._begin()
            (after,) = self.connection.execute(_CURSOR, (self.topic_id, "bob")).fetchone()
            (seq,) = self.connection.execute(_NEXT, (self.topic_id,)).fetchone()
            insert([self._row(seq + n, "bob") for n in range(BATCH)])
            self.connection.execute(_SET_NEXT, (self.topic_id, seq + BATCH, time.time()))
            assert not self.connection.execute(_UNREAD, (self.topic_id, after, "bob")).fetchall()
            self._end(seq + BATCH - 1)
        return SYNCS

    def _begin(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        (status,) = self.connection.execute(_STATUS, (self.topic_id,)).fetchone()
        assert status == "open"

    def _end(self, last_seq: int) -> None:
        self.connection.execute(_SET_CURSOR, (self.topic_id, "bob", last_seq, time.time()))
        self.connection.execute("COMMIT")


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Two ratios for each way: to bare SQL, and to a short topic."""
    small, large = Lane(folder / "small.sqlite", SMALL), Lane(folder / "large.sqlite", arguments.stored)

    turns = count(1)

    def reset() -> None:
        print(f"\rturn {next(turns)} ", end="", file=sys.stderr, flush=True)
        small.reset()
        large.reset()

    figures = {}
    for way in ("receive", "send"):
        contestants: dict[str, Callable[[], int]] = {
            "bare": getattr(small, f"bare_{way}"),
            "bus": getattr(small, way),
            "bare, long topic": getattr(large, f"bare_{way}"),
            "bus, long topic": getattr(large, way),
        }
        if way == "receive":
            contestants["dicts"] = small.dicts_receive
        else:
            contestants["one insert"] = small.one_insert_send
        figures[way] = _tell(way, interleave(contestants, rounds=arguments.rounds, before=reset))
    small.bus.close()
    large.bus.close()
    return {"stored": [SMALL, arguments.stored], **figures}, []


def _tell(way: str, seconds: dict[str, list[float]]) -> dict[str, Any]:
    us = {who: describe(took)["us"] for who, took in seconds.items()}
    print(f"\r{way} {BATCH}: " + ", ".join(f"{who} {took:.0f} µs" for who, took in us.items()))
    figures: dict[str, Any] = {"us": us}
    for of, to, bar in _RATIOS:
        if to in seconds:
            figure = figures[f"{of} to {to}"] = ratio(seconds[to], seconds[of])
            print(f"  {of} to {to:20}{figure['median']:6.2f}  {figure['low']:.2f}–{figure['high']:.2f}", end="  ")
            print(f"bar {bar}: {verdict(figure['median'], bar, at_least=False)}" if bar else "for comparison")
    return figures


_RATIOS = (
    ("bus", "bare", BAR),
    ("bus", "dicts", BAR),
    ("bus", "one insert", None),
    ("bus, long topic", "bus", BAR),
    ("bare, long topic", "bare", None),
)
_FILL = """
    INSERT INTO messages (message_id, topic_id, seq, sender, message_type, content_markdown, created_at)
    VALUES (?, ?, ?, ?, 'message', ?, ?)
"""
_FILL_BATCH = _FILL.replace("INSERT", "INSERT OR FAIL") + ", (?, ?, ?, ?, 'message', ?, ?)" * (BATCH - 1)
_STATUS = "SELECT status FROM topics WHERE topic_id = ?"
_CURSOR = "SELECT last_seq FROM cursors WHERE topic_id = ? AND agent_name = ?"
_NEXT = "SELECT next_seq FROM topic_seq WHERE topic_id = ?"
_UNREAD = f"""
    SELECT message_id, topic_id, seq, sender, message_type, reply_to,
           content_markdown, metadata_json, client_message_id, created_at
    FROM messages WHERE topic_id = ? AND seq > ? AND sender <> ? ORDER BY seq LIMIT {BATCH}
"""
_SET_CURSOR = """
    INSERT INTO cursors (topic_id, agent_name, last_seq, updated_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (topic_id, agent_name) DO UPDATE SET last_seq = excluded.last_seq, updated_at = excluded.updated_at
"""
_SET_NEXT = """
    INSERT INTO topic_seq (topic_id, next_seq, updated_at) VALUES (?, ?, ?)
    ON CONFLICT (topic_id) DO UPDATE SET next_seq = excluded.next_seq, updated_at = excluded.updated_at
"""
