"""What stands at .lock and is no file ends the open without a word of why."""

from refbus.driver import serve
from refbus.kernel.errors import BusError
from refbus.relay.bus import RelayBus
from refbus.relay.lock import Lock

KILLED_BY = ("relay.lease.17",)

_take = Lock.take


def breaks_down(lock: Lock) -> None:
    try:
        _take(lock)
    except BusError as error:
        raise error.__cause__ or error from None


Lock.take = breaks_down

if __name__ == "__main__":
    serve({"relay": RelayBus})
