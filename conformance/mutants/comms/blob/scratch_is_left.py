"""The temporary file of an artifact is left behind."""

from pathlib import Path

from refbus.comms import blob
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.blob.06",)

atomic_write = blob.atomic_write


def with_scratch(path: Path, data: bytes) -> None:
    path.with_name(path.name + ".tmp").write_bytes(data)
    atomic_write(path, data)


blob.atomic_write = with_scratch


if __name__ == "__main__":
    serve({"comms": CommsBus})
