"""A request waits for sixty seconds."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.36",)


class Mutant(CommsBus):
    LIMITS = {**CommsBus.LIMITS, "request_timeout_ms": 60_000}  # noqa: RUF012


if __name__ == "__main__":
    serve({"comms": Mutant})
