"""Anyone claims anyone's message (C4)."""

from refbus.comms import lease
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.10",)

assert "to_agent = :agent" in lease._CLAIMABLE
lease._CLAIMABLE = lease._CLAIMABLE.replace("to_agent = :agent", "to_agent IS NOT NULL")


if __name__ == "__main__":
    serve({"comms": CommsBus})
