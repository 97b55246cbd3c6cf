"""A removed database is noticed, one in its place is not: a process that has the old one open goes on with it."""

from refbus.driver import serve
from refbus.kernel.sight import Sight
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.64",)


def is_any_file_there(self: Sight) -> bool:
    return None not in self._found()


Sight.is_still_true = is_any_file_there  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"worker": WorkerBus})
