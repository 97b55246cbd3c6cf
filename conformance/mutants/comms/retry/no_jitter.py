"""The pauses are not spread."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import retry

KILLED_BY = ("comms.retry.26",)

send_delay_s = retry.send_delay_s
retry.send_delay_s = lambda attempt, base_s, jitter: send_delay_s(attempt, base_s, 1.0)


if __name__ == "__main__":
    serve({"comms": CommsBus})
