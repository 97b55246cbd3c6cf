"""synchronous = OFF. A power cut leaves only the bytes that reached the disk by chance, half checkpoints too."""

from refbus.driver import serve
from refbus.kernel import db
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.65",)
CHAOS = {"power": 150}


class NeverSyncs(WorkerBus):
    """Every connection is told so."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.db.connection().execute("PRAGMA synchronous = OFF")


db.Database.make_durable = lambda self: None


if __name__ == "__main__":
    serve({"worker": NeverSyncs})
