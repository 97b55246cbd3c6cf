"""Where bus.jsonl was moved away, everything is exported again."""

from __future__ import annotations

from refbus.driver import serve
from refbus.kernel.jsonl import JsonlFile
from refbus.worker import bus, export

KILLED_BY = ("worker.export.14",)


class Faulty(JsonlFile):
    def bring_up_to_date(self, exported_to: int = 0) -> int:
        return super().bring_up_to_date()


export.JsonlFile = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
