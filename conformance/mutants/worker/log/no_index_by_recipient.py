"""There is no index on (to_agent, seq)."""

from refbus.driver import serve
from refbus.worker import store
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.31",)


SEED, FAULT = "idx_messages_to_seq ON messages(to_agent, seq)", "idx_messages_to_seq ON messages(seq, to_agent)"
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
