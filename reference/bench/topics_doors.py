"""MCP servers of a bench, each a real process with a client of its own, and the syncs that wait on them."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from busproof.bus.mcp import McpDoor
from busproof.contract.topics import DB_NAME
from refbus.topics.bus import TopicsBus

SERVER = [sys.executable, "-m", "refbus.topics.mcp.server"]
STARTED_S = 120.0
Reply = dict[str, Any]


@contextlib.contextmanager
def door(store: Path) -> Iterator[McpDoor]:
    """One server on the store, and its client."""
    mcp = McpDoor(SERVER)
    try:
        mcp.get_ready("topics")
        mcp.call("open", {"store": str(store)})
        yield mcp
    finally:
        mcp.kill()


@contextlib.contextmanager
def crowd(store: Path, servers: int, topics_each: int, wait_s: int) -> Iterator[Crowd]:
    """So many servers, and a sync that waits on each of their topics; nobody sends there."""
    with contextlib.ExitStack() as ends, TopicsBus(store / DB_NAME) as bus:
        threads = ends.enter_context(ThreadPoolExecutor(max(1, servers * topics_each)))
        members = Crowd()
        for number in range(servers):
            members.doors.append(server := ends.enter_context(door(store)))
            for place in range(topics_each):
                topic_id = bus.topic_create(f"crowd-{number}-{place}")["topic_id"]
                server.call("topic_join", {"topic_id": topic_id, "agent_name": "waiter"})
                sync = {"topic_id": topic_id, "wait_seconds": wait_s}
                members.waits[topic_id] = threads.submit(server.call, "sync", sync, timeout_s=wait_s + STARTED_S)
            print(f"\r{number + 1} of {servers} servers ", end="", file=sys.stderr, flush=True)
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)
        # A sync's first transaction touches the cursor; from then on it waits.
        deadline = time.monotonic() + STARTED_S
        while bus.store.db.row("SELECT count(*) FROM cursors WHERE agent_name = 'waiter'")[0] < len(members.waits):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not all syncs have begun in {STARTED_S:g} s")
            time.sleep(0.1)
        yield members


class Crowd:
    """The servers, and the answer that each waiting sync will give, by topic."""

    def __init__(self) -> None:
        self.doors: list[McpDoor] = []
        self.waits: dict[str, Future[Reply]] = {}

    def returned_early(self) -> list[str]:
        """Those that ended though there was nothing to receive."""
        early = sum(wait.done() for wait in self.waits.values())
        return [f"{early} of {len(self.waits)} syncs did not wait"] if early else []

    def dismiss(self, store: Path, within_s: float) -> list[str]:
        """Send one message to each of them; say how many did not get that message alone."""
        with TopicsBus(store / DB_NAME) as bus:
            for topic_id in self.waits:
                bus.topic_join("sender", topic_id)
                bus.sync(topic_id, [{"content_markdown": topic_id}], wait_seconds=0)
        deadline = time.monotonic() + within_s
        bad = 0
        for topic_id, wait in self.waits.items():
            try:
                reply = wait.result(max(0.0, deadline - time.monotonic()))
                bad += [message["content_markdown"] for message in reply["received"]] != [topic_id]
            except Exception:
                bad += 1
        return [f"{bad} of {len(self.waits)} waiting syncs did not get their one message"] if bad else []
