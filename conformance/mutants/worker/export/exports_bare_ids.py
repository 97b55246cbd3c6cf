"""A line holds seq and id only."""

import json

from refbus.driver import serve
from refbus.worker import export
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.02",)
CONTROL = "export.idempotent"


export._line = lambda row: json.dumps({"seq": row[0], "id": row[1]}) + "\n"


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
