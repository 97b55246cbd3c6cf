"""A message that failed n times is due again after n seconds, sharp (C1)."""

from refbus.comms import lease
from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import delivery
from refbus.kernel.rules.delivery import Delivery

failed = delivery.failed


def linear(before: Delivery, now_us: int, jitter: float) -> Delivery:
    after = failed(before, now_us, jitter)
    return after if after.status == "dead" else after._replace(visible_at_us=now_us + after.failures * 1_000_000)


delivery.failed = lease.delivery.failed = linear

if __name__ == "__main__":
    serve({"comms": CommsBus})
