"""The cursor is the topic's, and all its agents share it."""

from typing import Any

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.01",)


def position(tx: Any, reader: Any) -> int:
    sql = "SELECT coalesce(max(last_seq), 0) FROM cursors WHERE topic_id = ?"
    return tx.execute(sql, (reader.topic_id,)).fetchone()[0]


cursor.position = position


if __name__ == "__main__":
    raise SystemExit(main())
