"""Artifacts lie in another folder than they say."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.blob.03",)
CONTROL = "blob.names"


class Mutant(CommsBus):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store.artifacts = self.store.root / "elsewhere"
        self.store.artifacts.mkdir(exist_ok=True)


if __name__ == "__main__":
    serve({"comms": Mutant})
