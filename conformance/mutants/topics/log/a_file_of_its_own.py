"""Every process has a file of its own."""

import os
from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.11",)
CONTROL = "log.ping"


class Mutant(TopicsBus):
    def __init__(self, store: Any, **options: Any) -> None:
        super().__init__(f"{store}-{os.getpid()}", **options)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
