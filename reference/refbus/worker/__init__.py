"""The `worker` bus of seed 000 as a library."""

from refbus.worker.bus import WorkerBus

__all__ = ["WorkerBus"]
