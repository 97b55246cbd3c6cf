"""A bucket refills by the time that its clock is set back."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import bucket

KILLED_BY = ("comms.limit.07",)

bucket.refilled = lambda held, now_us, capacity, refill_per_s: bucket.Bucket(
    min(capacity, held.tokens + abs(now_us - held.at_us) / 1_000_000 * refill_per_s), now_us
)


if __name__ == "__main__":
    serve({"comms": CommsBus})
