"""NaN and Infinity are stored as if they were JSON."""

import json

from refbus.driver import serve
from refbus.kernel import jsontext
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.limit.06",)
DIES_OF = "not JSON"  # the values that it stored make its own answers so


jsontext.encode = json.dumps
jsontext.decode = lambda text, around=0: json.loads(text)


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
