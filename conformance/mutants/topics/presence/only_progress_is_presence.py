"""A sync touches updated_at only when it moves the cursor."""

from refbus.topics import sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.05",)


sync._SET_CURSOR += " WHERE excluded.last_seq <> cursors.last_seq"


class Mutant(TopicsBus):
    pass


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
