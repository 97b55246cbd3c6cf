"""Table orchestrator_state is not the seed's."""

from refbus.driver import serve
from refbus.relay import store
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.12",)


WAS, IS = "value TEXT", "value BLOB"
assert WAS in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(WAS, IS))


if __name__ == "__main__":
    serve({"relay": RelayBus})
