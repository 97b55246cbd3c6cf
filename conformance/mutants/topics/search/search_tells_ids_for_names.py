"""The topic_name of a result is the topic's id."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.04",)


class Mutant(TopicsBus):
    def messages_search(self, query: str, **more: Any) -> dict[str, Any]:
        reply = super().messages_search(query, **more)
        for result in reply["results"]:
            result["topic_name"] = result["topic_id"]
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
