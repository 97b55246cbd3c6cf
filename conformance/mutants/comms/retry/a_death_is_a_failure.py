"""A claim that timed out counts as a failure."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import delivery

KILLED_BY = ("comms.retry.19",)

claimed = delivery.claimed
delivery.claimed = lambda before, *args: claimed(before, *args)._replace(failures=before.delivery_count)


if __name__ == "__main__":
    serve({"comms": CommsBus})
