"""A reply may be to a message of any topic, but must be to one."""

from typing import Any

from refbus.topics import log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.89",)

refuse = log.refuse_strange_reply


def refuse_lost_reply(tx: Any, topic_id: str, reply_to: str, place: int) -> None:
    topics = tx.rows("SELECT topic_id FROM messages WHERE message_id = ?", (reply_to,))
    refuse(tx, topics[0][0] if topics else topic_id, reply_to, place)


log.refuse_strange_reply = refuse_lost_reply


if __name__ == "__main__":
    raise SystemExit(main())
