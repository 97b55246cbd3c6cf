"""The table messages is not the seed's."""

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.17",)


SEED, FAULT = "CREATE TABLE messages (", "CREATE TABLE messages (\n    extra TEXT,"
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))


if __name__ == "__main__":
    serve({"comms": CommsBus})
