"""A client that asks for an unknown version of MCP is told the oldest one."""

from refbus.topics.mcp import server
from refbus.topics.mcp.protocol import HANDSHAKE_VERSIONS

KILLED_BY = ("topics.log.85",)

server.handshake_version = lambda asked: asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]


if __name__ == "__main__":
    raise SystemExit(server.main())
