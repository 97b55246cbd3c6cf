"""A row's message_type is in upper case."""

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.27",)
ITEM = "corpus:good_forms"


insert = ledger.insert
ledger.insert = lambda tx, entry: insert(tx, entry._replace(kind=entry.kind and entry.kind.upper()))


if __name__ == "__main__":
    serve({"relay": RelayBus})
