"""A bad publish ends the process."""

import os
from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.10",)
CONTROL = "limit.numbers"
DIES_OF = "ended before"


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id, message)
        except InvalidArgument:
            os._exit(3)


if __name__ == "__main__":
    serve({"worker": Mutant})
