"""The table channel_subscriptions is not the seed's."""

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.18",)


SEED, FAULT = "CREATE TABLE channel_subscriptions (", "CREATE TABLE channel_subscriptions (\n    extra TEXT,"
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))


if __name__ == "__main__":
    serve({"comms": CommsBus})
