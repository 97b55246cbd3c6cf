"""hello tells 9 as the highest priority, and 10 is taken."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.limit.19",)


class Mutant(CommsBus):
    LIMITS = CommsBus.LIMITS | {"priority_max": 9}


if __name__ == "__main__":
    serve({"comms": Mutant})
