"""The temporary file of a blob stays in the folder."""

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.08",)


class Mutant(WorkerBus):
    def _save_text(self, text: str) -> str:
        (self.blobs / "tmp123456").write_text(text[:100])
        return super()._save_text(text)


if __name__ == "__main__":
    serve({"worker": Mutant})
