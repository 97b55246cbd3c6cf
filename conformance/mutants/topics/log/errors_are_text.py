"""An error is only text."""

from mcp_types import CallToolResult, TextContent

from refbus.topics.mcp import server
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.69",)


def only_text(_code: str, message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=message)], is_error=True)


server.error_result = only_text


if __name__ == "__main__":
    raise SystemExit(main())
