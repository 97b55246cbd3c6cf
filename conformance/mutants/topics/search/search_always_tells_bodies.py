"""Every result has its body, asked for or not."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.search.05",)


class Mutant(TopicsBus):
    def messages_search(self, query: str, include_content: bool = False, **more: Any) -> dict[str, Any]:
        return super().messages_search(query, include_content=True, **more) | {"include_content": include_content}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
