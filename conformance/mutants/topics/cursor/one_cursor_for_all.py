"""The cursor is the topic's, and all its agents share it."""

from typing import Any

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.01",)


standing = cursor.standing


def of_all(tx: Any, reader: Any) -> cursor.Standing:
    sql = "SELECT coalesce(max(last_seq), 0) FROM cursors WHERE topic_id = ?"
    (position,) = tx.execute(sql, (reader.topic_id,)).fetchone()
    return standing(tx, reader)._replace(position=position)


cursor.standing = of_all


if __name__ == "__main__":
    raise SystemExit(main())
