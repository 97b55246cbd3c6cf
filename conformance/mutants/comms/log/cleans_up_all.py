"""The clean-up removes every message that has an expiry."""

from refbus.comms import log
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.40",)

assert "expires_at <= :now" in log._EXPIRED
log._EXPIRED = log._EXPIRED.replace("expires_at <= :now", ":now = :now")


if __name__ == "__main__":
    serve({"comms": CommsBus})
