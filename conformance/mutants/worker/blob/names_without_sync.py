"""The bytes of a blob are synced, its name in the folder is not. A row may speak of a file that is not there."""

from refbus.driver import serve
from refbus.kernel import files
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.18", "worker.log.65")
CHAOS = {"power": 150}

files.sync_folder = lambda path: None


if __name__ == "__main__":
    serve({"worker": WorkerBus})
