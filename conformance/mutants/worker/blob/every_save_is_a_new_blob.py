"""The same content saved twice is two blobs."""

import uuid
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.05",)


class Mutant(WorkerBus):
    def save_blob(self, content: Any) -> dict[str, Any]:
        return super().save_blob({"nonce": uuid.uuid4().hex, "content": content})

    def load_blob(self, ref: str) -> dict[str, Any]:
        return {"content": super().load_blob(ref)["content"]["content"]}


if __name__ == "__main__":
    serve({"worker": Mutant})
