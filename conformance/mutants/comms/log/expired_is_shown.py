"""Expired messages are received until somebody cleans up."""

from refbus.comms import route
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.37",)

assert "live_until > :now" in route._READY
route._READY = route._READY.replace("live_until > :now", "TRUE")


if __name__ == "__main__":
    serve({"comms": CommsBus})
