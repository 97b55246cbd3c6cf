"""Three failures open the breaker."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import breaker

KILLED_BY = ("comms.limit.08",)

failed = breaker.failed
breaker.failed = lambda state, now_ms, **more: failed(state, now_ms, threshold=3)


if __name__ == "__main__":
    serve({"comms": CommsBus})
