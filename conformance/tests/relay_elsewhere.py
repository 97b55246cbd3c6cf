"""The reference of `relay`, but that its ledger is a file of its own, of which only dump tells."""

from refbus import driver
from refbus.relay import tree
from refbus.relay.bus import RelayBus

tree.LEDGER = "book"


class Bus(RelayBus):
    """Without the feature."""

    FEATURES = tuple(name for name in RelayBus.FEATURES if name != "sqlite")


if __name__ == "__main__":
    driver.serve({"relay": Bus})
