"""A retry of a message whose blob is lost or damaged is refused as another message."""

from __future__ import annotations

from refbus.driver import serve
from refbus.kernel.errors import BusError
from refbus.worker import bus, log

KILLED_BY = ("worker.blob.17",)


class Faulty(log.Log):
    def _is_same_payload(self, mine: str | None, text: str | None, ref: str | None) -> bool:
        try:
            return super()._is_same_payload(mine, self._blobs.load_text(ref) if ref else text, None)
        except BusError:
            return False


bus.Log = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
