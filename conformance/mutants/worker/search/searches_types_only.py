"""Payloads are not searched."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.search.01",)


class Mutant(WorkerBus):
    def _words(self, text: Any, ref: Any) -> str:
        return ""


if __name__ == "__main__":
    serve({"worker": Mutant})
