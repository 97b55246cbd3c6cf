"""A dot in a name adds a token to the subject."""

from refbus.driver import serve
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.16",)
ITEM = "corpus:program_20"

encode = token.encode
token.encode = lambda text: encode(text).replace("%2E", ".")  # type: ignore[assignment]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
