"""Expired messages are claimed until somebody cleans up."""

from refbus.comms import lease
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.38",)

assert "live_until > :now" in lease._CLAIMABLE
lease._CLAIMABLE = lease._CLAIMABLE.replace("live_until > :now", "TRUE")


if __name__ == "__main__":
    serve({"comms": CommsBus})
