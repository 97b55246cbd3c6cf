"""On NATS an ack that no consumer heard is answered as done."""

import contextlib

from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.timeline.bus import TimelineBus
from refbus.timeline.jetstream import JetStreamQueue, _parts

KILLED_BY = ("timeline.cursor.21",)

_ack = JetStreamQueue.ack


def told(queue: JetStreamQueue, delivery: str) -> None:
    _parts(delivery)
    with contextlib.suppress(InvalidArgument):
        _ack(queue, delivery)


JetStreamQueue.ack = told


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
