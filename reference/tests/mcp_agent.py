"""Helpers of the tests of the MCP server: how it is started, and a client that has joined a topic."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jsonschema
from mcp import Client, StdioServerParameters

from refbus.topics.mcp.tools import TOOLS


def server(file: Path, *python: str) -> StdioServerParameters:
    """How a client starts the server, unless other arguments of Python are given."""
    environment = {"AGENT_BUS_DB": str(file)}
    arguments = list(python) or ["-m", "refbus.topics.mcp.server"]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment)


class Agent:
    """A client that has joined the topic `lane`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def join(self, name: str, token: str | None = None) -> Agent:
        self.topic_id = (await self.call("topic_create", name="lane"))["topic_id"]
        joined = await self.call("topic_join", agent_name=name, topic_id=self.topic_id, reclaim_token=token)
        self.token = joined["reclaim_token"]
        return self

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of a reply, an error's too. It is always what the tool's schema promises."""
        result = await self._client.call_tool(tool, arguments)
        jsonschema.validate(result.structured_content, TOOLS[tool]["output_schema"])
        assert result.is_error == ("error" in result.structured_content)
        return result.structured_content  # type: ignore[no-any-return]

    async def sync(self, *bodies: str, wait_seconds: int = 0, **arguments: Any) -> dict[str, Any]:
        outbox = [{"content_markdown": body} for body in bodies]
        return await self.call("sync", topic_id=self.topic_id, outbox=outbox, wait_seconds=wait_seconds, **arguments)

    async def bodies(self) -> list[str]:
        return [message["content_markdown"] for message in (await self.sync())["received"]]
