"""The status degraded is refused."""

from refbus.comms import presence
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.presence.03",)
CONTROL = "presence.last_heartbeat"

presence.STATUSES = ("active", "idle", "failed")


if __name__ == "__main__":
    serve({"comms": CommsBus})
