"""The ledger lacks a constraint or an index that keeps it sound or quick."""

from refbus.driver import serve
from refbus.relay import store
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.15",)


WAS, IS = "ON messages(status)", "ON messages(target)"
assert WAS in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(WAS, IS))


if __name__ == "__main__":
    serve({"relay": RelayBus})
