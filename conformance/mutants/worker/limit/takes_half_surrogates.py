"""Half surrogates in a payload are stored."""

import json

from refbus.driver import serve
from refbus.kernel import jsontext
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.04",)


jsontext.encode = lambda value: json.dumps(value, allow_nan=False)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
