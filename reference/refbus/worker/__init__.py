"""The `worker` bus of seed 000 as a library."""

from refbus.worker.bus import WorkerBus
from refbus.worker.heartbeat import Heartbeat
from refbus.worker.loop import Loop
from refbus.worker.tail import Tail

__all__ = ["Heartbeat", "Loop", "Tail", "WorkerBus"]
