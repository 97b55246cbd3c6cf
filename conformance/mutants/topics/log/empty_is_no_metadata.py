"""An empty metadata object is null."""

from refbus.topics import message
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.53",)

metadata_text = message.metadata_text
message.metadata_text = lambda what, metadata: metadata_text(what, metadata or None)


if __name__ == "__main__":
    raise SystemExit(main())
