"""Rows whose timestamp has no microseconds are not seen."""

from refbus.comms import lease, route
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.67", "comms.log.68")

assert "status = 'pending'" in route._READY
route._READY = route._READY.replace("status = 'pending'", "status = 'pending' AND length(timestamp) = 27")
assert "WHERE" in lease._CLAIMABLE
lease._CLAIMABLE = lease._CLAIMABLE.replace("WHERE", "WHERE length(timestamp) = 27 AND")


if __name__ == "__main__":
    serve({"comms": CommsBus})
