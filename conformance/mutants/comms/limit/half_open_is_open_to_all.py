"""Half-open lets any number through (C8)."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import breaker

KILLED_BY = ("comms.limit.13",)

admit = breaker.admit
breaker.admit = lambda state, now_ms, **more: (state, True) if state.state == "half_open" else admit(state, now_ms)


if __name__ == "__main__":
    serve({"comms": CommsBus})
