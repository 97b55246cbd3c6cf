"""The ledger is another file, which only dump shows: there is no ledger.db, and sqlite is not declared."""

from refbus.driver import serve
from refbus.relay import tree
from refbus.relay.bus import RelayBus

tree.LEDGER = "book"


class Bus(RelayBus):
    """Without the feature."""

    FEATURES = tuple(name for name in RelayBus.FEATURES if name != "sqlite")


if __name__ == "__main__":
    serve({"relay": Bus})
