"""Waiting over MCP: it blocks nothing, and a caller that goes away loses nothing."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from reference.tests.mcp_agent import Agent, server

from refbus.topics import cursor
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.protocol import Connection
from refbus.topics.mcp.server import Session


def test_everything_else_is_answered_while_a_sync_waits(tmp_path: Path) -> None:
    """Pings at once, more waits than the server has threads, and each gets its message."""

    async def session() -> None:
        async with Client(server(tmp_path / "bus.sqlite")) as first, Client(server(tmp_path / "bus.sqlite")) as two:
            alice, bob = await Agent(first).join("alice"), await Agent(two).join("bob")
            topics = [(await bob.call("topic_create", mode="new"))["topic_id"] for _ in range(20)]
            received = []

            async def wait(topic_id: str) -> None:
                await bob.call("topic_join", topic_id=topic_id, agent_name="bob")
                reply = await bob.call("sync", topic_id=topic_id, wait_seconds=3600)
                received.append(reply["received"][0]["content_markdown"])

            async with anyio.create_task_group() as tasks:
                for topic_id in topics:
                    tasks.start_soon(wait, topic_id)
                for _ in range(10):
                    await bob.call("ping")
                    assert (await bob.sync())["status"] == "empty"
                assert received == []
                for topic_id in topics:
                    await alice.call("topic_join", topic_id=topic_id, agent_name="alice")
                    outbox = [{"content_markdown": topic_id}]
                    await alice.call("sync", topic_id=topic_id, outbox=outbox, wait_seconds=0)
            assert sorted(received) == sorted(topics)

    anyio.run(session)


GIVES_BACK_SLOWLY = """
import time
from refbus.topics import cursor
from refbus.topics.mcp import server
give_back = cursor.SyncCall.give_back
cursor.SyncCall.give_back = lambda call: (time.sleep(0.5), give_back(call))
raise SystemExit(server.main())
"""


def test_what_is_received_while_the_caller_goes_is_given_back(tmp_path: Path) -> None:
    """The cancel arrives when the message has been seen and the lock is still to come. The next sync sees it again,
    though it is asked for before that is over, and on a machine that takes its time."""
    file = tmp_path / "bus.sqlite"

    async def session() -> None:
        slow = server(file, "-c", GIVES_BACK_SLOWLY)
        async with Client(server(file)) as first, Client(slow) as two:
            alice, bob = await Agent(first).join("alice"), await Agent(two).join("bob")
            holder = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
            await alice.sync("1")
            holder.execute("BEGIN IMMEDIATE")
            with anyio.move_on_after(0.3) as waiting:  # its first transaction waits for the lock
                await bob.sync(wait_seconds=60)
            assert waiting.cancelled_caught
            threading.Timer(0.3, holder.execute, ["COMMIT"]).start()
            assert await bob.bodies() == ["1"]
            holder.close()

    anyio.run(session)


def test_an_answer_that_waits_for_its_turn_is_not_dropped_with_the_connection(tmp_path: Path) -> None:
    """Nobody would see the messages that it consumed: the client closed its end before it read what fills the pipe."""
    file = tmp_path / "bus.sqlite"
    with TopicsBus(file) as alice:
        topic_id = alice.topic_create("lane")["topic_id"]
        alice.topic_join("alice", topic_id)
        for _ in range(3):
            alice.sync(topic_id, [{"content_markdown": "x" * 60_000}], wait_seconds=0)
        sync = {"topic_id": topic_id, "max_items": 1, "wait_seconds": 0}
        calls = [("topic_join", {"topic_id": topic_id, "agent_name": "bob"}), *[("sync", sync)] * 3]
        with subprocess.Popen(
            [sys.executable, "-m", "refbus.topics.mcp.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "AGENT_BUS_DB": str(file)},
        ) as process:
            assert process.stdin and process.stdout
            for id_, (name, arguments) in enumerate(calls):
                params = {"name": name, "arguments": arguments}
                request = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                if id_ == 0:
                    answers = [process.stdout.readline()]
            while [p["last_seq"] for p in alice.topic_presence(topic_id)["peers"] if p["agent_name"] == "bob"] != [3]:
                time.sleep(0.001)
            process.stdin.close()
            answers += process.stdout
    received = [json.loads(line)["result"]["structuredContent"].get("received", []) for line in answers]
    assert [message["seq"] for page in received for message in page] == [1, 2, 3]


def test_what_is_cancelled_while_it_looks_for_news_is_given_back_before_the_next_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that takes its time to look."""
    has_news, looking = cursor.SyncCall.has_news, threading.Event()

    def slowly(call: cursor.SyncCall) -> bool:
        looking.set()
        time.sleep(0.3)
        return has_news(call)

    monkeypatch.setattr(cursor.SyncCall, "has_news", slowly)
    answers: list[dict[str, Any]] = []

    async def session(bus: TopicsBus, topic_id: str) -> None:
        connection = Connection(Session(bus).handlers, {}, lambda line: answers.append(json.loads(line)))
        sync = {"topic_id": topic_id, "outbox": [{"content_markdown": "own"}], "wait_seconds": 60}
        connection.receive(_call(1, sync))
        await asyncio.to_thread(looking.wait)
        connection.receive(b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}')
        connection.receive(_call(2, {"topic_id": topic_id, "include_self": True, "wait_seconds": 0}))
        while not answers:
            await asyncio.sleep(0.001)
        await connection.close()

    with TopicsBus(tmp_path) as bus:
        topic_id = bus.topic_create("lane")["topic_id"]
        bus.topic_join("bob", topic_id)
        asyncio.run(session(bus, topic_id))
    (answer,) = answers
    assert answer["id"] == 2 and answer["result"]["structuredContent"]["received_count"] == 1


def _call(id_: int, arguments: dict[str, Any], tool: str = "sync") -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}).encode()


def test_lines_of_a_pipe_are_answered_in_their_order_before_the_server_ends(tmp_path: Path) -> None:
    """A sync without news does not wait for what nobody will send; a call that needs the one before has it."""
    with TopicsBus(tmp_path / "bus.sqlite") as bus:
        topic_id = bus.topic_create("lane")["topic_id"]
    lines = [
        _call(1, {"topic_id": topic_id, "agent_name": "ann"}, "topic_join"),
        _call(2, {"topic_id": topic_id, "outbox": [{"content_markdown": "hello"}], "include_self": True}),
        _call(3, {"topic_id": topic_id, "wait_seconds": 3600}),
        _call(4, {"topic_id": topic_id}, "topic_presence"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "refbus.topics.mcp.server"],
        input=b"\n".join(lines) + b"\n",
        capture_output=True,
        env={**os.environ, "AGENT_BUS_DB": str(tmp_path / "bus.sqlite")},
    )
    answers = {
        answer["id"]: answer["result"]["structuredContent"] for answer in map(json.loads, done.stdout.splitlines())
    }
    assert (done.returncode, done.stderr, sorted(answers)) == (0, b"", [1, 2, 3, 4])
    assert [message["content_markdown"] for message in answers[2]["received"]] == ["hello"]
    assert answers[3]["status"] == "timeout" and answers[4]["peers"][0]["agent_name"] == "ann"


def test_a_caller_that_reads_no_more_gets_nothing_and_loses_nothing(tmp_path: Path) -> None:
    """Both ends of its connection are closed while its call has not begun; no traceback tells of it."""
    answers: list[bytes] = []

    async def session(bus: TopicsBus, topic_id: str) -> None:
        connection = Connection(Session(bus).handlers, {}, answers.append)
        for id_ in range(3):
            connection.receive(_call(id_, {"topic_id": topic_id}))
        await connection.close(is_read=False)

    with TopicsBus(tmp_path) as alice, TopicsBus(tmp_path) as bob:
        topic_id = alice.topic_create("lane")["topic_id"]
        alice.topic_join("alice", topic_id)
        bob.topic_join("bob", topic_id)
        alice.sync(topic_id, [{"content_markdown": "news"}], wait_seconds=0)
        asyncio.run(session(bob, topic_id))
        assert answers == [] and bob.sync(topic_id, wait_seconds=0)["received_count"] == 1


def test_a_closed_reader_is_noticed(tmp_path: Path) -> None:
    """By a pipe whose other end is closed."""
    reads, writes = os.pipe()
    program = "from refbus.topics.mcp.wire import Wire; wire = Wire(); print(wire.is_read(), input(), flush=True); "
    program += "import sys; sys.stderr.write(str(wire.is_read())); wire.close()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=writes, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(writes)
        os.close(reads)
        _, errors = process.communicate("go\n", timeout=50)
    assert errors == "False go\nFalse"
