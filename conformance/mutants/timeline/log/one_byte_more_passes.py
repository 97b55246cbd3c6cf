"""A payload may have one byte more than the page says."""

from refbus.driver import serve
from refbus.timeline import message
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.33",)
ITEM = "corpus:program_02"

message.PAYLOAD_BYTES_MAX += 1
del TimelineBus.LIMITS["payload_bytes_max"]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
