"""The last line alone tells what the trail has: where it is a stranger's, after a crash, all comes again."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel import jsonl

KILLED_BY = ("comms.log.71",)
CHAOS = {"points": True, "only": "export_audit_trail"}

_repair = jsonl.JsonlFile._repair


def of_the_last_line(self: Any, fd: int) -> tuple[int, int]:
    size, last_seq = _repair(self, fd)
    _, line = jsonl._last_line(fd, size)
    return size, last_seq if self._is_ours(line) else 0


jsonl.JsonlFile._repair = of_the_last_line  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"comms": CommsBus})
