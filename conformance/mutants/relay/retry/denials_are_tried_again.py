"""A bad request is tried again."""

from refbus.driver import serve
from refbus.relay import failure
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.retry.07",)
ITEM = "corpus:routes"

failure.TRANSIENT |= {"bad_request"}

if __name__ == "__main__":
    serve({"relay": RelayBus})
