"""A subject may escape what needs no escape: one key has several subjects."""

from urllib.parse import unquote

from refbus.driver import serve
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.18",)
ITEM = "corpus:program_02"

token.decode = lambda written: unquote(written, errors="strict")  # type: ignore[assignment]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
