"""A process that once could not open a file believes for ever that it cannot write: only a restart mends it."""

import errno
from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import BusError
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "levels": (), "errors": (), "wants": (("descriptors", (0,)),)}


class Mutant(WorkerBus):
    broken: BusError | None = None

    def save_blob(self, *arguments: Any, **more: Any) -> Any:
        if self.broken is not None:
            raise self.broken
        try:
            return super().save_blob(*arguments, **more)
        except BusError as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EMFILE:
                self.broken = error
            raise


if __name__ == "__main__":
    serve({"worker": Mutant})
