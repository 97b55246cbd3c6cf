"""A blob is written under its final name. A kill leaves a torn one, which the retry takes for whole."""

from refbus.driver import serve
from refbus.kernel.blob import ref_of
from refbus.worker import bus
from refbus.worker.blob import Blobs

KILLED_BY = ("worker.blob.16",)
CHAOS = {"points": True, "only": "save_blob"}


class WritesBlobsInPlace(Blobs):
    """No temporary file, no rename."""

    def save_text(self, text: str) -> str:
        """The ref of a text that may be torn."""
        ref = ref_of(text.encode())
        path = self._folder / ref
        if not path.exists():
            path.write_bytes(text.encode())
        return ref


bus.Blobs = WritesBlobsInPlace


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
