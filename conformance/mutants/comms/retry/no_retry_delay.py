"""What failed is due again at once."""

from refbus.comms import bus
from refbus.comms.store import Store
from refbus.driver import serve

KILLED_BY = ("comms.retry.03", "comms.retry.06")
CONTROL = "retry.third_failure"


class Mutant(Store):
    def jitter(self) -> float:
        return 0.0


bus.Store = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
