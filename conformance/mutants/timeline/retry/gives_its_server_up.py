"""A caller that hears nothing from NATS at once asks no second time, though its answer is in the record by then."""

from refbus.driver import serve
from refbus.timeline import stream
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.retry.11",)

stream.PATIENCE_S = 0.0

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
