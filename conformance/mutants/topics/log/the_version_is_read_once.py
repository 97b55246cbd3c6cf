"""The schema version is read when the file is opened, and never again."""

from typing import Any

from refbus.kernel import store as kernel
from refbus.topics import bus
from refbus.topics.mcp.server import main
from refbus.topics.store import Store

KILLED_BY = ("topics.log.78",)


class Fault(Store):
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Any:
        self.transaction = lambda begin="BEGIN IMMEDIATE": kernel.Store.transaction(self, begin)
        return super().transaction(begin)


bus.Store = Fault


if __name__ == "__main__":
    raise SystemExit(main())
