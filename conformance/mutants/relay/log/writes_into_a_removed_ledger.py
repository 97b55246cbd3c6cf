"""The open ledger is believed: a message is taken up and delivered after somebody removed it, and no row says so."""

from refbus.driver import serve
from refbus.kernel.db import Database
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.66",)

Database.refuse_another_file = lambda self, **how: None  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
