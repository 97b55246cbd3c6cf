"""The trail is written where it ended when it was looked at: over the line that another has added since."""

import os
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel import jsonl
from refbus.kernel.jsonl import JsonlFile

KILLED_BY = ("comms.export.11",)
CHAOS = {"holds": True, "only": "export_audit_trail"}

_write_all, _repair = jsonl.write_all, JsonlFile._repair


def repair(self: JsonlFile, fd: int) -> Any:
    size, last_seq = _repair(self, fd)
    os.lseek(fd, size, os.SEEK_SET)
    return size, last_seq


def write_all(fd: int, data: bytes) -> None:
    own = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
    try:
        os.lseek(own, os.lseek(fd, 0, os.SEEK_CUR), os.SEEK_SET)
        _write_all(own, data)
        os.lseek(fd, len(data), os.SEEK_CUR)
    finally:
        os.close(own)


JsonlFile._repair = repair  # type: ignore[method-assign]
jsonl.write_all = write_all


if __name__ == "__main__":
    serve({"comms": CommsBus})
