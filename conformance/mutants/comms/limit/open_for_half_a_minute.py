"""The breaker tries again after thirty seconds."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import breaker

KILLED_BY = ("comms.limit.10",)

admit = breaker.admit
breaker.admit = lambda state, now_ms, **more: admit(state, now_ms, timeout_ms=30_000)


if __name__ == "__main__":
    serve({"comms": CommsBus})
