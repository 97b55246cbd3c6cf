"""Each process knows only the peers that synced through itself."""

from typing import Any, ClassVar

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.01",)
CONTROL = "presence.bad_arguments"


class Mutant(TopicsBus):
    synced: ClassVar[set[str]] = set()

    def begin_sync(self, topic_id: str, *args: Any, **more: Any) -> SyncCall:
        self.synced.add(self.lease.identity(topic_id).agent_name)
        return super().begin_sync(topic_id, *args, **more)

    def topic_presence(self, topic_id: str, **more: Any) -> dict[str, Any]:
        reply = super().topic_presence(topic_id, **more)
        peers = [peer for peer in reply["peers"] if peer["agent_name"] in self.synced]
        return reply | {"peers": peers, "count": len(peers)}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
