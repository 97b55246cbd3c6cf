"""The ledger lacks a constraint or an index that keeps it sound or quick."""

from refbus.driver import serve
from refbus.relay import store
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.11",)


WAS, IS = "last_error TEXT,\n    UNIQUE(file_path)", "last_error TEXT"
assert WAS in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(WAS, IS))


if __name__ == "__main__":
    serve({"relay": RelayBus})
