"""Table agents is not the seed's."""

from refbus.driver import serve
from refbus.relay import store
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.13",)


WAS, IS = "registered_at INTEGER NOT NULL", "registered_at TEXT NOT NULL"
assert WAS in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(WAS, IS))


if __name__ == "__main__":
    serve({"relay": RelayBus})
