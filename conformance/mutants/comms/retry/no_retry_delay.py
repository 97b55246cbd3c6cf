"""A failed message is due again at once."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import delivery

KILLED_BY = ("comms.retry.03", "comms.retry.06")
CONTROL = "retry.third_failure"

failed = delivery.failed
delivery.failed = lambda before, now_us, jitter: failed(before, now_us, 0.0)


if __name__ == "__main__":
    serve({"comms": CommsBus})
