"""The file holds tokens in another form than their owners."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.24",)


class Mutant(TopicsBus):
    def topic_join(self, *args: Any, reclaim_token: Any = None, **kwargs: Any) -> dict[str, Any]:
        reply = super().topic_join(*args, reclaim_token=reclaim_token and reclaim_token[::-1], **kwargs)
        return reply | {"reclaim_token": reply["reclaim_token"][::-1]}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
