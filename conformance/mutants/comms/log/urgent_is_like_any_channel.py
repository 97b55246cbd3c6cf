"""An urgent message lives as long as the rest."""

from refbus.comms import log
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.42",)

log.TTL_URGENT_S = log.TTL_S


if __name__ == "__main__":
    serve({"comms": CommsBus})
