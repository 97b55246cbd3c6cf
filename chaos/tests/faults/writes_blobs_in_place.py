"""Planted fault: a blob is written under its final name. A kill leaves a torn one, which the retry takes for whole."""

from refbus.driver import serve
from refbus.kernel.blob import ref_of
from refbus.worker.bus import WorkerBus


class WritesBlobsInPlace(WorkerBus):
    """No temporary file, no rename."""

    def _save_text(self, text: str) -> str:
        ref = ref_of(text.encode())
        path = self.blobs / ref
        if not path.exists():
            path.write_bytes(text.encode())
        return ref


if __name__ == "__main__":
    serve({"worker": WritesBlobsInPlace})
