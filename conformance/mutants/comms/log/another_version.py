"""protocol_version.txt says 1."""

from refbus.comms import store
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.25",)

store.PROTOCOL_VERSION = "1"


if __name__ == "__main__":
    serve({"comms": CommsBus})
