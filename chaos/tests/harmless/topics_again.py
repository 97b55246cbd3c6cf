"""No fault: the reference's MCP server under another name."""

from refbus.topics.mcp.server import main

if __name__ == "__main__":
    main()
