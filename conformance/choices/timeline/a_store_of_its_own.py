"""No tables that anybody knows, and ack_wait_ms by the session's clock all the same."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

TimelineBus.FEATURES = tuple(name for name in TimelineBus.FEATURES if name != "sqlite")

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
