"""A row's size is one byte too large."""

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.22",)
ITEM = "corpus:bad_forms"


insert = ledger.insert
ledger.insert = lambda tx, entry: insert(tx, entry._replace(stat=entry.stat._replace(size=entry.stat.size + 1)))


if __name__ == "__main__":
    serve({"relay": RelayBus})
