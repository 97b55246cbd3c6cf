"""Waiting over MCP: it blocks nothing, and a caller that goes away loses nothing."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from reference.tests.mcp_agent import Agent, server

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import Answers, make_server


def test_everything_else_is_answered_while_a_sync_waits(tmp_path: Path) -> None:
    """Pings at once, more waits than the server has threads, and each gets its message."""

    async def session() -> None:
        async with Client(server(tmp_path / "bus.sqlite")) as one, Client(server(tmp_path / "bus.sqlite")) as two:
            alice, bob = await Agent(one).join("alice"), await Agent(two).join("bob")
            topics = [(await bob.call("topic_create", mode="new"))["topic_id"] for _ in range(20)]
            received = []

            async def wait(topic_id: str) -> None:
                await bob.call("topic_join", topic_id=topic_id, agent_name="bob")
                reply = await bob.call("sync", topic_id=topic_id, wait_seconds=60)
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

    began = time.monotonic()
    anyio.run(session)
    assert time.monotonic() - began < 50


def test_a_cancelled_wait_consumes_nothing(tmp_path: Path) -> None:
    """The next sync gets what came since (B3)."""

    async def session() -> None:
        async with Client(server(tmp_path / "bus.sqlite")) as one, Client(server(tmp_path / "bus.sqlite")) as two:
            alice, bob = await Agent(one).join("alice"), await Agent(two).join("bob")
            with anyio.move_on_after(0.2) as waiting:
                await bob.sync("sent before", wait_seconds=60)
            assert waiting.cancelled_caught
            assert (await alice.sync("1"))["received_count"] == 1
            await bob.call("ping")
            assert await bob.bodies() == ["1"]

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
        async with Client(server(file)) as one, Client(slow) as two:
            alice, bob = await Agent(one).join("alice"), await Agent(two).join("bob")
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


def test_a_client_that_disconnects_while_it_waits_loses_nothing(tmp_path: Path) -> None:
    """After a restart the token brings name and cursor back; the old server is gone."""
    file = tmp_path / "bus.sqlite"

    async def session() -> None:
        async with Client(server(file)) as one:
            alice = await Agent(one).join("alice")
            async with Client(server(file)) as two:
                bob = await Agent(two).join("bob")
                with anyio.move_on_after(0.2):
                    await bob.sync(wait_seconds=60)
            await alice.sync("1")
            async with Client(server(file)) as two:
                again = await Agent(two).join("bob", token=bob.token)
                assert again.token == bob.token
                assert await again.bodies() == ["1"]

    began = time.monotonic()
    anyio.run(session)
    assert time.monotonic() - began < 50


def test_an_answer_that_waits_for_its_turn_is_not_dropped_with_the_connection(tmp_path: Path) -> None:
    """What it consumed would be seen by nobody: the client sent more than it reads at once, and closed its end."""

    async def session() -> None:
        with TopicsBus(tmp_path) as alice, TopicsBus(tmp_path) as bob:
            topic_id = alice.topic_create("lane")["topic_id"]
            for name, bus in (("alice", alice), ("bob", bob)):
                bus.topic_join(name, topic_id)
            alice.sync(topic_id, [{"content_markdown": "1"}], wait_seconds=0)
            asking, reading = anyio.create_memory_object_stream[SessionMessage | Exception](9)
            writing, answers = anyio.create_memory_object_stream[SessionMessage](0)
            server = make_server(bob)
            async with answers, anyio.create_task_group() as tasks:
                tasks.start_soon(server.run, reading, Answers(writing), server.create_initialization_options())
                who = {"name": "test", "version": "1"}
                params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}
                await asking.send(_line(id=1, method="initialize", params=params))
                await answers.receive()
                await asking.send(_line(method="notifications/initialized"))
                params = {"name": "sync", "arguments": {"topic_id": topic_id, "wait_seconds": 0}}
                await asking.send(_line(id=2, method="tools/call", params=params))
                while writing.statistics().tasks_waiting_send == 0:
                    await anyio.sleep(0.001)
                await asking.aclose()
                await anyio.wait_all_tasks_blocked()
                answer = (await answers.receive()).message.model_dump(by_alias=True)
            assert answer["result"]["structuredContent"]["received_count"] == 1

    anyio.run(session)


def _line(**message: Any) -> SessionMessage:
    return SessionMessage(jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message}))


def test_a_server_that_was_taken_over_may_not_write(tmp_path: Path) -> None:
    """Its wait ends with the first message, its syncs at once (B10)."""
    file = tmp_path / "bus.sqlite"

    async def session() -> None:
        async with Client(server(file)) as one, Client(server(file)) as two:
            alice = await Agent(one).join("alice")
            codes = []

            async def wait() -> None:
                codes.append((await alice.sync(wait_seconds=60))["error"]["code"])

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                await Agent(two).join("alice", token=alice.token)
                with TopicsBus(file) as bus:
                    bus.topic_join("carol", alice.topic_id)
                    bus.sync(alice.topic_id, [{"content_markdown": "news"}], wait_seconds=0)
            codes.append((await alice.sync("x"))["error"]["code"])
            assert codes == ["AGENT_NOT_JOINED"] * 2

    anyio.run(session)
