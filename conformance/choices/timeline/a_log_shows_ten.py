"""log shows ten messages by default."""

from refbus.driver import serve
from refbus.timeline import log
from refbus.timeline.bus import TimelineBus

log.LIMIT = 10

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
