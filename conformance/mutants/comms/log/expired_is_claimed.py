"""Expired messages are claimed until somebody cleans up."""

from refbus.comms import lease
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.38",)

lease._CLAIMABLE = lease._CLAIMABLE.replace("expires_at > :now", "TRUE")


if __name__ == "__main__":
    serve({"comms": CommsBus})
