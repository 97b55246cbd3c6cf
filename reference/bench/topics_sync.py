"""A sync of 20 messages beside the bare SQL of one, and in a topic of a million messages beside one of a thousand.

Bare SQL is what nobody who keeps to the seed can leave out, written by hand: is the topic open, where does the cursor
stand, the messages, the cursor's new place, one transaction, and no check of anything. Same file, same connection.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compare import describe, interleave, ratio, verdict

from refbus.topics.bus import TopicsBus

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
        self.connection = self.bus.db.connection()
        for start in range(1, stored + 1, 1000):
            rows = [
                (secrets.token_hex(5), self.topic_id, start + n, "alice", BODY, TIME) for n in range(1000)
            ]
            self.connection.execute("BEGIN")
            self.connection.executemany(_FILL, rows)
            self.connection.execute("COMMIT")
            if start % 100_000 == 1:
                print(f"\r{start - 1:>9} of {stored}", end="", file=sys.stderr)
        print("\r" + " " * 24 + "\r", end="", file=sys.stderr)
        self.reset()

    def reset(self) -> None:
        """As it was before the last round."""
        self.connection.execute(
            "DELETE FROM messages WHERE topic_id = ? AND seq > ?", (self.topic_id, self.stored)
        )
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
            self._begin()
            (after,) = self.connection.execute(_CURSOR, (self.topic_id, "bob")).fetchone()
            rows = self.connection.execute(_UNREAD, (self.topic_id, after, "bob")).fetchall()
            assert len(rows) == BATCH
            self._end(rows[-1][2])
        return SYNCS

    def bare_send(self) -> int:
        """By hand; the ids are made beforehand and taken to be free."""
        ids = iter([secrets.token_hex(5) for _ in range(BATCH * SYNCS)])
        self.connection.execute("UPDATE cursors SET last_seq = ?", (self.stored,))
        for _ in range(SYNCS):
            self._begin()
            (after,) = self.connection.execute(_CURSOR, (self.topic_id, "bob")).fetchone()
            (seq,) = self.connection.execute(_NEXT, (self.topic_id,)).fetchone()
            rows = [(next(ids), self.topic_id, seq + n, "bob", BODY, TIME) for n in range(BATCH)]
            self.connection.executemany(_FILL, rows)
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

    def reset() -> None:
        small.reset()
        large.reset()

    figures = []
    print(f"{'µs':10}{'bare':>8}{SMALL:>8}{arguments.stored:>10}   ratios, and their middle half")
    for name in ("receive", "send"):
        contestants: dict[str, Callable[[], int]] = {
            "bare": getattr(small, f"bare_{name}"), "small": getattr(small, name), "large": getattr(large, name),
            "bare_large": getattr(large, f"bare_{name}"),
        }  # fmt: skip
        seconds = interleave(contestants, rounds=arguments.rounds, before=reset)
        figures.append({"name": name, **_tell(name, seconds)})
    small.bus.close()
    large.bus.close()
    return {"stored": [SMALL, arguments.stored], "bars": figures}, []


def _tell(name: str, seconds: dict[str, list[float]]) -> dict[str, Any]:
    us = {who: describe(took)["us"] for who, took in seconds.items()}
    print(f"{name:10}{us['bare']:8.0f}{us['small']:8.0f}{us['large']:10.0f}")
    ratios = {
        "to_bare": ratio(seconds["bare"], seconds["small"]),
        "large_to_small": ratio(seconds["small"], seconds["large"]),
        "bare_large_to_small": ratio(seconds["bare"], seconds["bare_large"]),
    }
    for what, said in ratios.items():
        print(f"  {what:22}{said['median']:6.2f}  {said['low']:.2f}–{said['high']:.2f}", end="")
        judged = "for comparison" if what.startswith("bare") else verdict(said["median"], BAR, at_least=False)
        print(f"  {judged}" if what.startswith("bare") else f"  bar {BAR}: {judged}")
    return {"us": us, **ratios}


_FILL = """
    INSERT INTO messages (message_id, topic_id, seq, sender, message_type, content_markdown, created_at)
    VALUES (?, ?, ?, ?, 'message', ?, ?)
"""
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
