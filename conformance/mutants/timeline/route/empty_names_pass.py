"""A dimension may be empty."""

from refbus.driver import serve
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.20",)
ITEM = "corpus:program_01"

name = token.name
token.name = lambda what, value: "" if value == "" else name(what, value)


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
