"""A line that is no JSON ends the process."""

import json
from typing import Any

from refbus import driver
from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.11",)
DIES_OF = "ended before"


_answer = driver.Driver.answer


def _unguarded(self: Any, line: bytes) -> dict[str, Any]:
    json.loads(line)
    return _answer(self, line)


driver.Driver.answer = _unguarded


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
