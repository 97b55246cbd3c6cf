"""A seq whose message is gone is given again."""

import re

from refbus.driver import serve
from refbus.worker import store
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.26",)


SEED, FAULT = "AUTOINCREMENT", ""
assert SEED in store.SCHEMA.seed
# The code that keeps the numbers of an older file's archive has no table to keep them in, then
KEPT = re.compile(r"INSERT INTO sqlite_sequence .*?;\nUPDATE sqlite_sequence .*?;\n", re.DOTALL)
assert KEPT.search(store.SCHEMA.extra)
store.SCHEMA = store.SCHEMA._replace(
    seed=store.SCHEMA.seed.replace(SEED, FAULT), extra=KEPT.sub("", store.SCHEMA.extra)
)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
