"""A number is taken before it is known that the message is there already."""

from typing import Any

from refbus.topics import sync
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.42", "topics.log.45")

send = sync._send


def burning(connection: Any, topic_id: str, *args: Any) -> Any:
    sent, warnings, next_seq = send(connection, topic_id, *args)
    burnt = sum(record["duplicate"] for record in sent)
    sql = "UPDATE topic_seq SET next_seq = next_seq + ? WHERE topic_id = ?"
    connection.execute(sql, (burnt, topic_id))
    return sent, warnings, next_seq


sync._send = burning


if __name__ == "__main__":
    raise SystemExit(main())
