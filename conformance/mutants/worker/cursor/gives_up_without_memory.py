"""A poll for which there was no memory once is refused ever after, however much there is by then."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "levels": (), "errors": (), "wants": (("KiB of memory", (0, 256)),)}


class Mutant(WorkerBus):
    is_out_of_memory = False

    def poll(self, *arguments: Any, **more: Any) -> Any:
        if self.is_out_of_memory:
            raise MemoryError
        try:
            return super().poll(*arguments, **more)
        except MemoryError:
            self.is_out_of_memory = True
            raise


if __name__ == "__main__":
    serve({"worker": Mutant})
