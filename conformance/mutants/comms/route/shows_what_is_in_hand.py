"""A message in processing is received."""

from refbus.comms import route
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.37", "comms.lease.03")

assert "status = 'pending'" in route._READY
route._READY = route._READY.replace("status = 'pending'", "status IN ('pending', 'processing')")


if __name__ == "__main__":
    serve({"comms": CommsBus})
