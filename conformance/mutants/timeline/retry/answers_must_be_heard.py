"""On NATS a call that waits looks for its answer only when it hears of one."""

import time

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.jetstream import JetStreamQueue
from refbus.timeline.message import Node

KILLED_BY = ("timeline.retry.11",)

find = JetStreamQueue.find


def by_ear(queue: JetStreamQueue, subject: str, nonce: str | None = None, wait_s: float = 0) -> Node | None:
    deadline = time.monotonic() + wait_s
    with queue.client.hints(subject) as heard:
        found = find(queue, subject, nonce)
        while found is None and heard.wait(max(0.0, deadline - time.monotonic())):
            heard.clear()
            found = find(queue, subject, nonce, 0.1)  # it is heard a moment before it is stored
        return found


JetStreamQueue.find = by_ear  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
