"""The MCP server, driven by a real MCP client over stdio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, MCPError
from reference.tests.mcp_agent import Agent, server

from refbus import __version__
from refbus.topics.mcp.tools import TOOLS


def test_tools_are_described_for_models(tmp_path: Path) -> None:
    """With schemas both ways, hints that say what is harmless, and the package's own version."""

    async def session() -> None:
        async with Client(server(tmp_path / "bus.sqlite")) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            ping = await Agent(client).call("ping")
        assert list(tools) == list(TOOLS) and len(tools) == 10
        assert ping == {"ok": True, "spec_version": "v6.3", "package_version": __version__}
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
