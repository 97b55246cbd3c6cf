"""hello declares a limit on payloads that the bus does not keep."""

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.07",)


class Mutant(WorkerBus):
    LIMITS = {**WorkerBus.LIMITS, "payload_bytes_max": 1_000_000}  # noqa: RUF012


if __name__ == "__main__":
    serve({"worker": Mutant})
