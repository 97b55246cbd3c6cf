"""What is in processing is received."""

from refbus.comms import route
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.37", "comms.lease.03")

route._READY = route._READY.replace("m.status = 'pending'", "m.status IN ('pending', 'processing')")


if __name__ == "__main__":
    serve({"comms": CommsBus})
