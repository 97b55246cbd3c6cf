"""Declares that it survives a power cut, and commits without a sync."""

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.65",)
CHAOS = {"power": 30}


class SaysPowerLoss(WorkerBus):
    """synchronous = NORMAL, and a promise that only FULL keeps."""

    DURABILITY = "power-loss"


if __name__ == "__main__":
    serve({"worker": SaysPowerLoss})
