"""The kit's own participants: they stand all that a scenario does to a session, too."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from busproof.bus.sqlite_comms import CommsParticipant
from busproof.bus.sqlite_topics import TopicsParticipant

CALLS = 25


def _joined(store: Path, name: str = "ann") -> tuple[TopicsParticipant, str]:
    session = TopicsParticipant()
    session.call("open", {"store": str(store), "options": {}})
    topic_id = session.call("topic_create", {"name": "lane"})["topic_id"]
    session.call("topic_join", {"topic_id": topic_id, "agent_name": name})
    return session, str(topic_id)


def test_calls_of_several_threads_come_one_after_the_other(tmp_path: Path) -> None:
    """They share a connection: two transactions at once were none."""
    session, topic_id = _joined(tmp_path)

    def send(_: int) -> list[int]:
        params: dict[str, Any] = {"topic_id": topic_id, "wait_seconds": 0, "outbox": [{"content_markdown": "m"}]}
        return [session.call("sync", params)["sent"][0]["message"]["seq"] for _ in range(CALLS)]

    with ThreadPoolExecutor(6) as pool:
        seqs = [seq for sent in pool.map(send, range(6)) for seq in sent]
    assert sorted(seqs) == list(range(1, 6 * CALLS + 1))
    session.close()


def test_a_call_that_waits_lets_others_go_on(tmp_path: Path) -> None:
    """A message from another session ends it, and nothing earlier."""
    ann, topic_id = _joined(tmp_path, "ann")
    bob, _ = _joined(tmp_path, "bob")
    params = {"topic_id": topic_id, "wait_seconds": 0, "outbox": [{"content_markdown": "m"}]}
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ann.call, "sync", {"topic_id": topic_id, "wait_seconds": 300})
        for _ in range(CALLS):
            ann.call("sync", params)
        bob.call("sync", params)
        assert [message["sender"] for message in waiting.result(60)["received"]] == ["bob"]
    ann.close()
    bob.close()


def test_who_opens_a_new_file_waits_for_another_who_has_it(tmp_path: Path) -> None:
    """SQLite does not wait where a file changes to WAL: two that open a project at once meet there."""
    folder = tmp_path / ".claude" / "communications"
    folder.mkdir(parents=True)
    session = CommsParticipant()
    with closing(sqlite3.connect(folder / "messages.db", isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.2, other.execute, ["COMMIT"])
        timer.start()
        assert session.call("open", {"store": str(tmp_path), "options": {}}) == {}
        timer.join()
    session.close()
