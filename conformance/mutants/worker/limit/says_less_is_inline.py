"""hello tells half of what really stays in the row as inline_payload_bytes_max."""

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.18",)


class Mutant(WorkerBus):
    LIMITS = WorkerBus.LIMITS | {"inline_payload_bytes_max": 2048}


if __name__ == "__main__":
    serve({"worker": Mutant})
