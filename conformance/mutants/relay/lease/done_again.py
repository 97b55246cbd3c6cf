"""A fresh orchestrator puts archived files back into the outboxes."""

from pathlib import Path
from typing import Any

from refbus.driver import serve
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.lease.08",)


class Mutant(RelayBus):
    def __init__(self, root: Any, **options: Any) -> None:
        for path in list(Path(root).glob("archive/*/*/*.msg")):
            path.rename(path.parents[3] / "agents" / path.parent.name / "outbox" / f"2{path.name[1:]}")
        super().__init__(root, **options)


if __name__ == "__main__":
    serve({"relay": Mutant})
