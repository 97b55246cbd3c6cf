"""A name that is taken is given with a number behind it."""

from typing import Any

from refbus.kernel.errors import AgentNameInUse
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.07", "topics.lease.08")


class Mutant(TopicsBus):
    def topic_join(self, agent_name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return super().topic_join(agent_name, *args, **kwargs)
        except AgentNameInUse:
            return super().topic_join(f"{agent_name}-2", *args, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
