"""A nonce of an invoke or a request is ignored."""

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.29",)
ITEM = "corpus:program_01"

check_nonce = keys.check_nonce
keys.check_nonce = lambda key, nonce: check_nonce(key, nonce) if isinstance(key, keys.Delegate) else None


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
