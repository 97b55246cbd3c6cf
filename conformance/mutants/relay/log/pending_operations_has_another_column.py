"""Table pending_operations is not the seed's."""

from refbus.driver import serve
from refbus.relay import store
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.14",)


WAS, IS = "payload TEXT NOT NULL", "payload TEXT"
assert WAS in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(WAS, IS))


if __name__ == "__main__":
    serve({"relay": RelayBus})
