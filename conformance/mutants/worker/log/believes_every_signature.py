"""Signatures are stored and never looked at."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.46", "worker.log.47")


class Mutant(WorkerBus):
    def _is_signed(self, row: Any) -> bool:
        return True


if __name__ == "__main__":
    serve({"worker": Mutant})
