"""Payloads are not searched."""

from __future__ import annotations

from typing import Any

from refbus.driver import serve
from refbus.worker import bus, search

KILLED_BY = ("worker.search.01",)
CONTROL = "blob.large_payload_survives"


class Faulty(search.Search):
    def words(self, text: Any, ref: Any) -> str:
        return ""


bus.Search = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
