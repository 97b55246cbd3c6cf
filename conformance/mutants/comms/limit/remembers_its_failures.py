"""A probe that succeeds leaves the old failures counted (C8)."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import breaker

KILLED_BY = ("comms.limit.11", "comms.limit.12")

breaker.succeeded = lambda state: state._replace(state="closed")


if __name__ == "__main__":
    serve({"comms": CommsBus})
