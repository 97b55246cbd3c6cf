"""The pauses do not grow."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import retry

KILLED_BY = ("comms.retry.25",)

retry.send_delay_s = lambda attempt, base_s, jitter: base_s * jitter


if __name__ == "__main__":
    serve({"comms": CommsBus})
