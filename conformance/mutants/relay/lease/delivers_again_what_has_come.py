"""A delivery that was interrupted when its copies had come is finished, and its messages are not: they come again."""

from refbus.driver import serve
from refbus.relay.bus import RelayBus
from refbus.relay.recovery import Recovery

KILLED_BY = ("relay.lease.15",)

_finish_delivery = Recovery._finish_delivery
Recovery._finish_delivery = lambda recovery, operation, payload: _finish_delivery(
    recovery, operation, payload | {"messages": []}
)

if __name__ == "__main__":
    serve({"relay": RelayBus})
