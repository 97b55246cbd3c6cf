"""There is no index on (correlation_id, seq)."""

from refbus.driver import serve
from refbus.worker import store
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.32",)


SEED, FAULT = "ON messages(correlation_id, seq)", "ON messages(seq)"
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
