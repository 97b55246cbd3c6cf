"""Ids of topics and messages are UUIDs of 36 characters, reclaim tokens 64 digits."""

import secrets
import uuid

from refbus.topics import ids, lease, log, route
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

ids.new_id = lambda: str(uuid.uuid4())
ids.ids_of_time = lambda now_s, count: [str(uuid.uuid4()) for _ in range(count)]
for module in (route, log, lease):
    for name in ("new_id", "ids_of_time"):
        if hasattr(module, name):
            setattr(module, name, getattr(ids, name))
token_hex = secrets.token_hex
secrets.token_hex = lambda count=32: token_hex(32 if count == 16 else count)

if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
