"""The audit trail tells of an artifact before it is written: where it is not, the trail says that it is."""

from typing import Any

from refbus.comms import blob
from refbus.comms.blob import Artifacts, ArtifactWritten
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.71",)
CHAOS = {"points": True, "only": "write_artifact"}

_late: list[tuple[Any, bytes]] = []
_write_now = blob.atomic_write
_write = Artifacts.write_artifact


def write_artifact(self: Artifacts, *args: Any, **how: Any) -> ArtifactWritten:
    reply = _write(self, *args, **how)
    while _late:
        _write_now(*_late.pop())
    return reply


blob.atomic_write = lambda path, data: _late.append((path, data))
Artifacts.write_artifact = write_artifact  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"comms": CommsBus})
