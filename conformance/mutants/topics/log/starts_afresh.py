"""A server that starts clears away old messages."""

from refbus.topics import bus
from refbus.topics.mcp.server import main
from refbus.topics.store import Store

KILLED_BY = ("topics.log.47",)


class Fault(Store):
    def open_file(self) -> None:
        super().open_file()
        self.db.write("DELETE FROM messages")


bus.Store = Fault


if __name__ == "__main__":
    raise SystemExit(main())
