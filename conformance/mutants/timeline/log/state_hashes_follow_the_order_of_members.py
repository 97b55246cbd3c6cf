"""The same state has another hash when its members stand in another order."""

from hashlib import sha256

from refbus.driver import serve
from refbus.timeline import log, message
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.26",)
ITEM = "corpus:values"

log.state_hash = lambda state: sha256(message.json_text("state", state).encode()).hexdigest()


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
