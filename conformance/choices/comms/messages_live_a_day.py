"""A message that is given no time to live lives for a day, on every channel (C13)."""

from refbus.comms import log
from refbus.comms.bus import CommsBus
from refbus.driver import serve

log.TTL_S = log.TTL_URGENT_S = 24 * 60 * 60

if __name__ == "__main__":
    serve({"comms": CommsBus})
