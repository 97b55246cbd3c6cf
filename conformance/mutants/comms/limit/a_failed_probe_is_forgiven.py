"""A probe that fails leaves the breaker half-open."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import breaker

KILLED_BY = ("comms.limit.14",)

failed = breaker.failed
breaker.failed = lambda state, now_ms, **more: state if state.state == "half_open" else failed(state, now_ms)


if __name__ == "__main__":
    serve({"comms": CommsBus})
