"""All topics share one sequence."""

from refbus.topics import lease
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.42", "topics.log.43")

lease._STANDING = lease._STANDING.replace(
    "SELECT next_seq FROM topic_seq WHERE topic_id = :topic", "SELECT max(next_seq) FROM topic_seq"
)


if __name__ == "__main__":
    raise SystemExit(main())
