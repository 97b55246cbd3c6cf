"""A token is worth nothing to a server that did not give it."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.12",)

_GIVEN: set[str] = set()


class Mutant(TopicsBus):
    def topic_join(self, *args: Any, reclaim_token: Any = None, **kwargs: Any) -> dict[str, Any]:
        known = reclaim_token if reclaim_token in _GIVEN else None
        reply = super().topic_join(*args, reclaim_token=known, **kwargs)
        _GIVEN.add(reply["reclaim_token"])
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
