"""Workers answer a queue. As many as one likes may share it; each message is worked on by one of them.

A message is acknowledged after its answer is recorded. A worker that dies before that leaves it to another, and the
first answer counts: a second one is refused by the record, so the caller sees one.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from refbus.kernel.errors import IdConflict
from refbus.kernel.stop import Stop
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus
from refbus.timeline.cursor import Fetched
from refbus.timeline.message import Message
from refbus.timeline.run import Run, is_result, reply_of

WAIT_MS = 250  # between two looks at whether to stop

Work = Callable[[Fetched], tuple[Any, Any]]  # payload and state


class Worker:
    """Takes messages of a filter one by one, works on each, answers it, acknowledges it."""

    def __init__(self, bus: TimelineBus, filter: dict[str, Any], work: Work, group: str | None = None) -> None:
        self.bus, self.filter, self.work, self.group = bus, filter, work, group

    def step(self, wait_ms: int = 0) -> bool:
        """Work on one message, if there is one within wait_ms. If the work raises an error, the message comes again."""
        message = self.bus.fetch(self.filter, self.group, wait_ms)["message"]
        if message is None:
            return False
        answer = reply_of(message)
        if self.bus.store.queue.find(keys.subject(answer)) is None:
            payload, state = self.work(message)
            try:
                if is_result(answer):
                    self.bus.reply(message["key"] or {}, payload, message["nonce"], state)
                else:
                    self.bus.reply(message["key"] or {}, payload)
            except IdConflict:
                pass  # another worker was given it after ack_wait, and was first
        self.bus.ack(message["delivery"])
        return True

    def run(self, is_stopped: Callable[[], bool]) -> None:
        """Work until stopped. A message that fails is told on stderr, and comes again after ack_wait."""
        stop = Stop()
        stop.repeat(lambda: stop.set() if is_stopped() else self.step(WAIT_MS), traceback.print_exception, Exception)


def service(bus: TimelineBus, name: str, backend: str, answer: Callable[[Message], Any]) -> Worker:
    """A worker of one backend of a service: `infer` on `ollama`."""
    filter = {"type": "request", "service": name, "backend": backend}
    return Worker(bus, filter, lambda message: (answer(message), None))


def runtime(bus: TimelineBus, name: str, agent: str, handler: Callable[[Run], Any]) -> Worker:
    """A worker that runs one agent on a runtime, when a harness submits to it."""
    return Worker(bus, {"type": "invoke", "runtime": name, "agent": agent}, _run(bus, handler))


def delegate(bus: TimelineBus, agent: str, handler: Callable[[Run], Any]) -> Worker:
    """A worker that runs one agent, when another delegates to it."""
    return Worker(bus, {"type": "delegate", "target": agent}, _run(bus, handler))


def _run(bus: TimelineBus, handler: Callable[[Run], Any]) -> Work:
    def work(message: Message) -> tuple[Any, Any]:
        run = Run(bus, message)
        payload = handler(run)
        return payload, run.state

    return work
