"""A failed message never comes back (C1)."""

from refbus.comms import bus
from refbus.comms.store import Store
from refbus.driver import serve

KILLED_BY = ("comms.retry.02",)
CONTROL = "retry.send_with_retry"


class Mutant(Store):
    def jitter(self) -> float:
        return 10.0**6


bus.Store = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
