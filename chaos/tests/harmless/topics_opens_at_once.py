"""No fault: a server that makes its file before anybody calls."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main


class OpensAtOnce(TopicsBus):
    """A server may do so to read its tables at its start."""

    def __init__(self, store: Any, **options: Any) -> None:
        super().__init__(store, **options)
        self.topic_list()


if __name__ == "__main__":
    main(OpensAtOnce)
