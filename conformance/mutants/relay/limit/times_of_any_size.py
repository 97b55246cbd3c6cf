"""A file's time goes into the ledger as it is, also where it has more than 64 bits."""

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.19",)

tree._LAST_NS = 2**100

if __name__ == "__main__":
    serve({"relay": RelayBus})
