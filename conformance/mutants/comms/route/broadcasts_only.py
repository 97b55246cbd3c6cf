"""Messages to one agent are not shown."""

from refbus.comms import route
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.04",)
CONTROL = "route.subscriptions"

assert "to_agent = :agent" in route._READY
route._READY = route._READY.replace("to_agent = :agent", "FALSE")


if __name__ == "__main__":
    serve({"comms": CommsBus})
