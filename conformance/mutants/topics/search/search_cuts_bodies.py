"""include_content=true gives the first thousand characters of a body."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.06",)


class Mutant(TopicsBus):
    def messages_search(self, query: str, **more: Any) -> dict[str, Any]:
        reply = super().messages_search(query, **more)
        for result in reply["results"]:
            if "content_markdown" in result:
                result["content_markdown"] = result["content_markdown"][:1000]
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
