"""An artifact is written over the old one, piece by piece."""

import time
from pathlib import Path

from refbus.comms import blob
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.blob.05",)


def in_pieces(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        for start in range(0, len(data), 50_000):
            file.write(data[start : start + 50_000])
            file.flush()
            time.sleep(0.005)


blob.atomic_write = in_pieces


if __name__ == "__main__":
    serve({"comms": CommsBus})
