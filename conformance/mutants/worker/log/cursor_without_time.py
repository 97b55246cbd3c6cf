"""cursors.updated_at_ms may be null."""

from refbus.driver import serve
from refbus.worker import store
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.34",)


SEED, FAULT = "updated_at_ms INTEGER NOT NULL", "updated_at_ms INTEGER"
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
