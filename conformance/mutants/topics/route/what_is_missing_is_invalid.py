"""A topic that does not exist is INVALID_ARGUMENT."""

from refbus.kernel.errors import TopicNotFound
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.12", "topics.lease.06")

TopicNotFound.code = "INVALID_ARGUMENT"


if __name__ == "__main__":
    raise SystemExit(main())
