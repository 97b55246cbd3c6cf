"""A delegation without a nonce is taken."""

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.28",)
ITEM = "corpus:program_08"

check_nonce = keys.check_nonce
keys.check_nonce = lambda key, nonce: None if nonce is None else check_nonce(key, nonce)


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
