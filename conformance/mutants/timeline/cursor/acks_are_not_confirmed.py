"""On NATS an ack is published, and answered before the server has it."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.jetstream import JetStreamQueue, _parts

KILLED_BY = ("timeline.cursor.21",)


def told(queue: JetStreamQueue, delivery: str) -> None:
    _parts(delivery)
    client = queue.client
    client._run(client._connection.publish(delivery, b"+ACK"), 2.0)


JetStreamQueue.ack = told  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
