"""The MCP server, driven by a real MCP client over stdio, in both eras of the protocol."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, MCPError
from reference.tests.mcp_agent import Agent, server

from refbus import __version__
from refbus.topics.mcp.tools import TOOLS


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_session_of_all_ten_tools(tmp_path: Path, mode: str) -> None:
    """Every reply is what its schema promises; the client checks that as well."""

    async def session() -> None:
        async with (
            Client(server(tmp_path / "bus.sqlite"), mode=mode) as first,
            Client(server(tmp_path / "bus.sqlite"), mode=mode) as two,
        ):
            ping = await Agent(first).call("ping")
            assert ping == {"ok": True, "spec_version": "v6.3", "package_version": __version__}
            alice, bob = await Agent(first).join("alice"), await Agent(two).join("bob")
            assert (await alice.call("topic_resolve", name="lane"))["topic_id"] == bob.topic_id
            sent = await alice.sync("a question?")
            assert sent["sent"][0]["message"]["seq"] == 1
            assert await bob.bodies() == ["a question?"]
            assert (await bob.call("topic_presence", topic_id=bob.topic_id))["count"] == 2
            assert (await bob.call("cursor_reset", topic_id=bob.topic_id))["cursor"]["last_seq"] == 0
            assert await bob.bodies() == ["a question?"]
            assert (await bob.call("messages_search", query="question"))["count"] == 1
            assert (await bob.call("topic_list"))["topics"][0]["name"] == "lane"
            assert (await bob.call("topic_close", topic_id=bob.topic_id))["status"] == "closed"
            assert (await bob.call("topic_close", topic_id=bob.topic_id))["warnings"]
            assert (await alice.sync("late"))["error"]["code"] == "TOPIC_CLOSED"

    anyio.run(session)


def test_tools_are_described_for_models(tmp_path: Path) -> None:
    """With schemas both ways, and hints that say what is harmless."""

    async def session() -> None:
        async with Client(server(tmp_path / "bus.sqlite")) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == list(TOOLS) and len(tools) == 10
        for tool in tools.values():
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
            assert tool.description and tool.annotations and tool.annotations.open_world_hint is False
            assert all("description" in field for field in tool.input_schema["properties"].values())
        reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
        assert reading == {"ping", "topic_list", "topic_resolve", "topic_presence", "messages_search"}
        assert {name for name, tool in tools.items() if tool.annotations.destructive_hint} == {"topic_close"}

    anyio.run(session)


def test_text_alone_is_enough_to_go_on(tmp_path: Path) -> None:
    """For clients that show no structured content: bodies, ids, the token, and an error's message."""

    async def session() -> None:
        async with Client(server(tmp_path / "bus.sqlite")) as first, Client(server(tmp_path / "bus.sqlite")) as two:
            alice, bob = await Agent(first).join("alice"), await Agent(two).join("bob")

            async def text(tool: str, **arguments: Any) -> str:
                result = await two.call_tool(tool, {"topic_id": bob.topic_id, **arguments})
                return "\n".join(content.text for content in result.content)

            shown = await text("topic_join", agent_name="bob")
            assert shown.endswith(f"\nreclaim_token={bob.token}")
            message = (await alice.sync("# body\n\n" + "x" * 65_000))["sent"][0]["message"]
            shown = await text("sync", wait_seconds=0)
            assert "\n> # body\n> \n> xxx" in shown and message["message_id"] in shown and "65008 characters" in shown
            assert "nothing can be sent" not in shown
            await text("topic_close", reason="done")
            error = (await bob.sync("x"))["error"]
            assert await text("sync", outbox=[{"content_markdown": "x"}]) == f"TOPIC_CLOSED: {error['message']}"

    anyio.run(session)


def test_arguments_are_checked_before_anything_happens(tmp_path: Path) -> None:
    """Unknown, missing and null ones; a tool that is none is the protocol's error."""

    async def session() -> None:
        async with Client(server(tmp_path / "bus.sqlite")) as client:
            alice = await Agent(client).join("alice")
            for tool, arguments, says in (
                ("sync", {"topic_id": alice.topic_id, "outbx": []}, "takes no outbx"),
                ("sync", {"topic_id": alice.topic_id, "": 1}, "takes no empty name"),
                ("sync", {}, "needs topic_id"),
                ("topic_resolve", {"name": None}, "needs name"),
                ("sync", {"topic_id": alice.topic_id, "max_items": 21}, "max_items"),
                ("sync", {"topic_id": alice.topic_id, "outbox": [{"content": "x"}]}, "content_markdown"),
            ):
                error = (await alice.call(tool, **arguments))["error"]
                assert error["code"] == "INVALID_ARGUMENT" and says in error["message"]
            nulls = {"max_items": None, "include_self": None, "ack_through": None, "auto_advance": None}
            assert (await alice.sync(**nulls))["status"] == "empty"
            with pytest.raises(MCPError, match="no tool"):
                await client.call_tool("nope", {})

    anyio.run(session)


def test_a_file_of_another_schema_is_refused_by_every_tool(tmp_path: Path) -> None:
    """With the way out, and unchanged; ping still answers."""
    file = tmp_path / "bus.sqlite"
    with sqlite3.connect(file) as old:
        old.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        old.execute("INSERT INTO meta VALUES ('schema_version', '5')")
    old.close()
    arguments: dict[str, dict[str, Any]] = {
        "topic_resolve": {"name": "x"},
        "topic_close": {"topic_id": "x"},
        "messages_search": {"query": "x"},
        "topic_join": {"name": "x", "agent_name": "a"},
        "topic_presence": {"topic_id": "x"},
    }

    async def session() -> None:
        async with Client(server(file)) as client:
            agent = Agent(client)
            assert (await agent.call("ping"))["ok"] is True
            for tool in ("topic_create", "topic_list", *arguments):
                error = (await agent.call(tool, **arguments.get(tool, {})))["error"]
                assert error["code"] == "DB_SCHEMA_MISMATCH"
                assert "Wipe it" in error["message"] and str(file) in error["message"]

    anyio.run(session)
    with sqlite3.connect(file) as old:
        assert [name for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'")] == ["meta"]
    old.close()
