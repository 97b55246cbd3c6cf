"""A message is found by its whole body, not by a word of it."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.12", "topics.search.13")
CONTROL = "search.bad_arguments"


class Mutant(TopicsBus):
    def messages_search(self, query: str, include_content: bool = False, **more: Any) -> dict[str, Any]:
        reply = super().messages_search(query, include_content=True, **more)
        same = [result for result in reply["results"] if result["content_markdown"] == query]
        return reply | {"results": same, "count": len(same)}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
