"""A row's target is in lower case."""

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.28",)
ITEM = "corpus:retries"


insert = ledger.insert
ledger.insert = lambda tx, entry: insert(tx, entry._replace(target=entry.target and entry.target.lower()))


if __name__ == "__main__":
    serve({"relay": RelayBus})
