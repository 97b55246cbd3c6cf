"""Every message of an outbox has a time of its own."""

import time
from typing import Any

from refbus.topics import sync
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.39",)

send = sync._send


def one_by_one(connection: Any, topic: Any, sender: Any, standing: Any, items: Any, _now: Any) -> Any:
    sent, warnings = [], []
    for item in items:
        records, more = send(connection, topic, sender, standing, [item], time.time())
        new = sum(not record["duplicate"] for record in records)
        standing = standing._replace(next_seq=standing.next_seq + new)
        sent, warnings = sent + records, warnings + more
    return sent, warnings


sync._send = one_by_one


if __name__ == "__main__":
    raise SystemExit(main())
