"""An ack may not cover messages that the same call sends."""

from typing import Any

from refbus.kernel.rules import cursor
from refbus.topics import log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.20",)

newest_before: list[int] = []
append, advance = log.append, cursor.advance


def append_after(tx: Any, topic_id: str, sender: str, items: list[Any], at: log.Lane) -> log.Appended:
    newest_before[:] = [at.next_seq - 1]
    return append(tx, topic_id, sender, items, at)


log.append = append_after
cursor.advance = lambda current, asked, newest: advance(current, asked, newest_before[0])


if __name__ == "__main__":
    raise SystemExit(main())
