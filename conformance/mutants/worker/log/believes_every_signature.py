"""Signatures are stored and never looked at."""

from __future__ import annotations

from typing import Any

from refbus.driver import serve
from refbus.worker import bus, signing

KILLED_BY = ("worker.log.46", "worker.log.47")


class Faulty(signing.Signatures):
    def is_good(self, row: Any) -> bool:
        return True


bus.Signatures = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
