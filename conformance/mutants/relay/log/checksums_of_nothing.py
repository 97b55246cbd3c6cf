"""A row's checksum is that of no bytes."""

import hashlib

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.25",)
ITEM = "corpus:bad_forms"


insert = ledger.insert
ledger.insert = lambda tx, entry: insert(tx, entry._replace(checksum=entry.checksum and hashlib.sha256().hexdigest()))


if __name__ == "__main__":
    serve({"relay": RelayBus})
