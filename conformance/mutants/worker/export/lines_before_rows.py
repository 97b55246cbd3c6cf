"""The export makes lines durable whose rows are not. A power cut takes these back, and seqs are given again."""

from refbus.driver import serve
from refbus.kernel.db import Database
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.15", "worker.log.65")
CHAOS = {"power": 60}

Database.make_durable = lambda self: None


if __name__ == "__main__":
    serve({"worker": WorkerBus})
