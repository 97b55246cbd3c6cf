"""A bad argument is tried again."""

from refbus.comms import retry
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.21",)
DIES_OF = "no answer"


retry.NOT_RETRYABLE = ()


if __name__ == "__main__":
    serve({"comms": CommsBus})
