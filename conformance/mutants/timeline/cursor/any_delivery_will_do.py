"""ack takes a delivery that no fetch gave."""

from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.timeline import sqlite
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.cursor.13",)
ITEM = "corpus:program_03"

parts = sqlite._parts


def lenient(delivery: object) -> tuple[str, int, int]:
    try:
        return parts(delivery)
    except InvalidArgument:
        return "", 0, 0


sqlite._parts = lenient


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
