"""A blob that is there is taken for durable: its maker may have died before its name was durable."""

from refbus.driver import serve
from refbus.kernel import blob
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.18", "worker.log.65")
CHAOS = {"power": 20, "deaths": 12, "only": "publish with blob"}

blob.keep_entry = lambda path: None


if __name__ == "__main__":
    serve({"worker": WorkerBus})
