"""Arguments that are no text become one."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.19", "topics.lease.05")


class Mutant(TopicsBus):
    def topic_create(self, name: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().topic_create(None if name is None else str(name), **kwargs)

    def topic_resolve(self, name: Any, **kwargs: Any) -> dict[str, Any]:
        return super().topic_resolve(str(name), **kwargs)

    def topic_close(self, topic_id: Any, **kwargs: Any) -> dict[str, Any]:
        return super().topic_close(str(topic_id), **kwargs)

    def topic_join(self, agent_name: Any, **kwargs: Any) -> dict[str, Any]:
        return super().topic_join(str(agent_name), **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
