"""Tools of an MCP server over stdio."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from busproof.bus.base import Lost, Refused
from busproof.bus.child import Child
from busproof.bus.mcp_client import McpClient, as_object
from busproof.bus.toml.cli import refusal

TWO_S = 3.0


class StdioServer(McpClient):
    """A server in the process group of the adapter: a kill of the adapter kills it, too."""

    skips_noise = True  # a banner on stdout is against MCP's rules, and no promise of a bus is broken by it

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        super().__init__(argv, lambda argv, *, env=None: Child(argv, env=env, cwd=cwd, leads=False))
        self._env = env

    def begin_session(self, start_s: float, pause_s: float) -> None:
        """Start the server."""
        self.start(self._env, start_s)
        time.sleep(pause_s)

    def tool(self, name: str, arguments: dict[str, Any], timeout_s: float) -> Any:
        """Call a tool."""
        return value_of(self.request("tools/call", {"name": name, "arguments": arguments}, timeout_s))

    def takes_two(self) -> bool:
        """Does it answer two requests that stand before it at once?"""
        deadline = time.monotonic() + TWO_S
        for id_ in [self._ask("ping", {}, TWO_S) for _ in range(2)]:
            try:
                self.result(id_, "ping", deadline)
            except Refused:
                continue
            except Lost:
                return False
        return True


def value_of(result: dict[str, Any]) -> Any:
    """The value of a tool's result, or Refused if it is an error."""
    parts = result.get("content")
    objects = [as_object(part) for part in (parts if isinstance(parts, list) else [])]
    texts = [str(part.get("text", "")) for part in objects if part.get("type") == "text"]
    structured = result.get("structuredContent")
    if result.get("isError"):
        raise refusal("\n".join(texts) or json.dumps(structured))
    if isinstance(structured, dict):
        return structured
    values = [_value(text) for text in texts]
    return values[0] if len(values) == 1 else values


def refused_by_rpc(error: Refused) -> Refused:
    """An error of JSON-RPC: the server's own failure (-32603) promises nothing."""
    return Refused("REFUSED", error.message, definite=error.rpc != -32603, rpc=error.rpc)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
