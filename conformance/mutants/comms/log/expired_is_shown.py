"""Expired messages are received until somebody cleans up."""

from refbus.comms import route
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.37",)

route._READY = route._READY.replace("m.expires_at > :now", "TRUE")


if __name__ == "__main__":
    serve({"comms": CommsBus})
