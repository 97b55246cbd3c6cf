"""There is no index on the expiry."""

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.21",)


INDEX = "CREATE INDEX idx_expiration ON messages(expires_at)\n    WHERE expires_at IS NOT NULL;\n"
assert INDEX in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(INDEX, ""))


if __name__ == "__main__":
    serve({"comms": CommsBus})
