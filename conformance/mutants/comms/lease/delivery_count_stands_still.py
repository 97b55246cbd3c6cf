"""Every claim is the first delivery."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import delivery

KILLED_BY = ("comms.lease.15", "comms.lease.16", "comms.lease.17", "comms.retry.04", "comms.retry.11")

claimed = delivery.claimed
delivery.claimed = lambda *args: claimed(*args)._replace(delivery_count=1)


if __name__ == "__main__":
    serve({"comms": CommsBus})
