"""Save_blob is answered, and a thread writes the file 30 ms later."""

import threading

from refbus.driver import serve
from refbus.kernel.blob import ref_of
from refbus.worker import bus
from refbus.worker.blob import Blobs

KILLED_BY = ("worker.blob.16",)
CHAOS = {"points": True, "only": "save_blob"}
CONTROL = "log.fields"


class Late(Blobs):
    """Answers with the name that the file will have."""

    def save_text(self, text: str) -> str:
        threading.Timer(0.03, super().save_text, (text,)).start()
        return ref_of(text.encode())


bus.Blobs = Late


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
