"""A subject is read in lower case."""

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.17",)
ITEM = "corpus:names"

parse = keys.parse
keys.parse = lambda text: parse(text.lower() if isinstance(text, str) and "%" not in text else text)


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
