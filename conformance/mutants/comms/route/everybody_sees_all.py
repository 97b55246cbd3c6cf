"""Messages to one agent are shown to all."""

from refbus.comms import route
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.05",)
CONTROL = "route.channels"

route._READY = route._READY.replace("m.to_agent = :agent", "m.to_agent IS NOT NULL")


if __name__ == "__main__":
    serve({"comms": CommsBus})
