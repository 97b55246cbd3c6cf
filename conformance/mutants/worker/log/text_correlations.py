"""messages.in_reply_to is a number."""

from refbus.driver import serve
from refbus.worker import store
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.30",)


SEED, FAULT = "in_reply_to TEXT", "in_reply_to INTEGER"
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
