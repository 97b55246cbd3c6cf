"""A sequence may be true."""

from refbus.driver import serve
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.27",)
ITEM = "corpus:bad_keys"

sequence = token.sequence
token.sequence = lambda what, value: sequence(what, int(value) if isinstance(value, bool) else value)


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
