"""The lock is a file elsewhere."""

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.03",)


tree.LOCK = ".orchestrator"


if __name__ == "__main__":
    serve({"relay": RelayBus})
