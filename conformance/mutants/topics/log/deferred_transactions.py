"""A transaction takes the lock when it comes to its first write."""

from typing import Any

from refbus.topics import bus
from refbus.topics.mcp.server import main
from refbus.topics.store import Store

KILLED_BY = ("topics.log.70",)


class Fault(Store):
    def transaction(self, _begin: str = "BEGIN") -> Any:
        return super().transaction("BEGIN")


bus.Store = Fault


if __name__ == "__main__":
    raise SystemExit(main())
