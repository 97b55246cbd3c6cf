"""hello tells 201 bytes for a name, and 201 are refused."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.45",)


class Mutant(TimelineBus):
    LIMITS = TimelineBus.LIMITS | {"name_bytes_max": 201}


if __name__ == "__main__":
    serve({"timeline": Mutant})
