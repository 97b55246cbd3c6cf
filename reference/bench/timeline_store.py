"""Stores for the benches of timeline: an empty one on either backend, and one with a long record behind it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from nats_server import NatsServer

from refbus.timeline import filters, keys
from refbus.timeline.bus import TimelineBus
from refbus.timeline.message import Draft, Place, chained, draft
from refbus.timeline.queue import Branch
from refbus.timeline.sqlite import SqliteQueue

SERVICE = {"type": "request", "service": "infer", "backend": "ollama"}
PAYLOAD = {"model": "small", "prompt": "Say in one sentence what a message bus is for.", "temperature": 0}
ANSWER = {"text": "It lets programs that know nothing of each other work on one task."}
PER_TIMELINE = 1_000


@contextlib.contextmanager
def store(folder: Path, backend: str) -> Iterator[Path]:
    """A folder whose config.toml names the backend; a server runs as long as it is needed."""
    folder.mkdir()
    with contextlib.ExitStack() as opened:
        if backend == "nats":
            (folder / "nats").mkdir()
            server = opened.enter_context(NatsServer(folder / "nats"))
            (folder / "config.toml").write_text(f'[queue]\nbackend = "nats"\nnats_url = "{server.url}"\n')
        yield folder


def request(timeline: str, submission: str, sequence: int) -> dict[str, object]:
    """A key to call the service with."""
    key = {"timeline": timeline, "submission": submission, "agent": "ada", "operation": "chat", "sequence": sequence}
    return {**SERVICE, **key}


def fill(folder: Path, messages: int) -> TimelineBus:
    """A record of so many messages, requests and their responses in turns, which the service has worked through."""
    bus = TimelineBus(folder)
    queue = bus.store.queue
    assert isinstance(queue, SqliteQueue)
    for first in range(0, messages, PER_TIMELINE):
        timeline = f"t{first // PER_TIMELINE:05}"
        with queue.store.transaction() as tx:
            last = Place()
            for number in range(min(PER_TIMELINE, messages - first)):
                message = _message(timeline, number)
                node = chained(message, last, tx.now_us)
                queue.insert(tx, message, node)
                last = node.place
            queue.set_head(tx, Branch(timeline, None, last))
    with queue.store.transaction() as tx:
        tx.execute(
            "INSERT INTO consumers (consumer, floor) SELECT ?, max(position) FROM messages",
            (filters.from_dict(SERVICE).consumer,),
        )
    queue.store.db.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    return bus


def _message(timeline: str, number: int) -> Draft:
    key = keys.from_dict(request(timeline, f"s{number // 20}", number // 2))
    return draft(keys.reply_key(key) if number % 2 else key, ANSWER if number % 2 else PAYLOAD)
