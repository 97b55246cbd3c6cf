"""A request without an answer is an internal fault."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import TimedOut

KILLED_BY = ("comms.route.35",)
DIES_OF = "INTERNAL"

TimedOut.code = "INTERNAL"


if __name__ == "__main__":
    serve({"comms": CommsBus})
