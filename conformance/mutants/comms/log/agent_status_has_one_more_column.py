"""The table agent_status is not the seed's."""

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.19",)


SEED, FAULT = "CREATE TABLE agent_status (", "CREATE TABLE agent_status (\n    extra TEXT,"
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))


if __name__ == "__main__":
    serve({"comms": CommsBus})
