"""No failure opens the breaker."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import breaker

KILLED_BY = ("comms.limit.09",)

failed = breaker.failed
breaker.failed = lambda state, now_ms, **more: failed(state, now_ms, threshold=10**9)


if __name__ == "__main__":
    serve({"comms": CommsBus})
