"""hello tells as inline_payload_bytes_max half of the size that really stays in the row."""

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.18",)


class Mutant(WorkerBus):
    LIMITS = WorkerBus.LIMITS | {"inline_payload_bytes_max": 2048}


if __name__ == "__main__":
    serve({"worker": Mutant})
