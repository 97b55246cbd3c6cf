"""A row's modification time has lost its nanoseconds."""

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.23",)
ITEM = "corpus:bad_forms"


insert = ledger.insert
ledger.insert = lambda tx, entry: insert(
    tx, entry._replace(stat=entry.stat._replace(mtime_ns=entry.stat.mtime_ns // 1_000_000))
)


if __name__ == "__main__":
    serve({"relay": RelayBus})
