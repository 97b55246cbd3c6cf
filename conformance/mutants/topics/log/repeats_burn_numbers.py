"""A number is taken before it is known that the message is there already."""

from typing import Any

from refbus.topics import log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.42", "topics.log.45")

append = log.append


def burning(tx: Any, topic_id: str, *args: Any) -> log.Appended:
    done = append(tx, topic_id, *args)
    burnt = sum(record["duplicate"] for record in done.sent)
    tx.execute("UPDATE topic_seq SET next_seq = next_seq + ? WHERE topic_id = ?", (burnt, topic_id))
    return done


log.append = burning


if __name__ == "__main__":
    raise SystemExit(main())
