"""A value of another type is turned into text, and metadata that is no object is dropped."""

from typing import Any

from refbus.topics import message
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.59",)


class Fault(message.Draft):
    def __init__(self, item: Any) -> None:
        fitted = {name: value if value is None else str(value) for name, value in item.items()}
        metadata = item.get("metadata")
        super().__init__({**fitted, "metadata": metadata if type(metadata) is dict else None})


message.Draft = Fault


if __name__ == "__main__":
    raise SystemExit(main())
