"""A broadcast is not shown to its sender."""

from refbus.comms import route
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.06",)
CONTROL = "route.channels"

assert "to_agent IS NULL AND" in route._READY
route._READY = route._READY.replace("to_agent IS NULL AND", "to_agent IS NULL AND from_agent <> :agent AND")


if __name__ == "__main__":
    serve({"comms": CommsBus})
