"""Two failures make a dead letter."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import delivery

KILLED_BY = ("comms.retry.07", "comms.retry.27")

delivery.FAILURES_MAX = 2


if __name__ == "__main__":
    serve({"comms": CommsBus})
