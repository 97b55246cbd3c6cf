"""A failed message never comes back (C1)."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.02", "comms.retry.07", "comms.log.70")


class Mutant(CommsBus):
    def _jitter(self) -> float:
        return 10.0**6


if __name__ == "__main__":
    serve({"comms": Mutant})
