"""Unused tokens are saved without end."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import bucket

KILLED_BY = ("comms.limit.04",)
CONTROL = "limit.each_agent"

bucket.refilled = lambda held, now_us, capacity, refill_per_s: bucket.Bucket(
    held.tokens + max(0, now_us - held.at_us) / 1_000_000 * refill_per_s, max(now_us, held.at_us)
)


if __name__ == "__main__":
    serve({"comms": CommsBus})
