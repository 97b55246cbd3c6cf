"""The worker's state is not told in a file."""

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.17",)


class Mutant(WorkerBus):
    def _mirror(self, worker: str, state: str, updated_at_ms: int) -> None:
        return None


if __name__ == "__main__":
    serve({"worker": Mutant})
