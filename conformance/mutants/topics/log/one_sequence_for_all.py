"""All topics share one sequence."""

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.42", "topics.log.43")

SEED, FAULT = "SELECT next_seq FROM topic_seq WHERE topic_id = :topic", "SELECT max(next_seq) FROM topic_seq WHERE true"
assert SEED in cursor._STANDING
cursor._STANDING = cursor._STANDING.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
