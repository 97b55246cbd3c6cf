"""On NATS, an ack to a consumer that somebody deleted ends without a word of why."""

from refbus.driver import serve
from refbus.kernel.errors import Internal
from refbus.timeline.bus import TimelineBus
from refbus.timeline.jetstream import JetStreamQueue

KILLED_BY = ("timeline.cursor.21",)

_consumer_of = JetStreamQueue._consumer_of


def breaks_down(queue: JetStreamQueue, delivery: str) -> object:
    try:
        return _consumer_of(queue, delivery)
    except Exception as error:
        raise Internal("no consumer") from error


JetStreamQueue._consumer_of = breaks_down

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
