"""The repair of the trail takes the bytes of one read for the last line: after a crash, a long one comes again."""

import os

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel import jsonl

KILLED_BY = ("comms.log.71",)
CHAOS = {"points": True, "only": "export_audit_trail"}
BUFFER_BYTES = 65_536


def last_line(fd: int, end: int) -> tuple[int, bytes]:
    """The last line of the last bytes alone."""
    start = max(0, end - BUFFER_BYTES)
    tail = os.pread(fd, end - start, start)
    newline = tail.rfind(b"\n", 0, len(tail) - 1)
    return start + newline + 1, tail[newline + 1 :]


jsonl._last_line = last_line

if __name__ == "__main__":
    serve({"comms": CommsBus})
