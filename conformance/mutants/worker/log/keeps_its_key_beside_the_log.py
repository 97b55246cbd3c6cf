"""The signing key lies in the store, for any process that opens it next."""

from __future__ import annotations

from typing import Any

from refbus.driver import serve
from refbus.worker import bus, signing

KILLED_BY = ("worker.log.70",)


class Faulty(signing.Signatures):
    def __init__(self, store: Any) -> None:
        super().__init__(store)
        if self.key is not None:
            (store.folder / "signing.key").write_text(self.key.hex())


bus.Signatures = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
