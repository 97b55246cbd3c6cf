"""An agent's run: the object that its code is given, and the same code run again from the record.

The calls of a run are numbered in their order. Code that makes the same calls again finds their answers in the record,
so a run that died half-way is repeated and goes on where it was, and `rerun` needs nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from refbus.kernel.errors import IdConflict, NotFound
from refbus.kernel.rules import limit as limits
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus
from refbus.timeline.call import TIMEOUT_MS
from refbus.timeline.keys import Delegate, DelegateReply, Invoke, Key, Request
from refbus.timeline.message import Message, draft, state_hash

# A request's key does not say which delegation it serves, so each delegated run has numbers of its own.
CALLS_MAX = 1_000_000


class Run:
    """One run of one agent. `payload` is its input; `state` is the value that is hashed when it ends."""

    def __init__(self, bus: TimelineBus, message: Message, *, from_record: bool = False) -> None:
        self.bus, self.from_record = bus, from_record
        key = keys.from_dict(message["key"])
        if not isinstance(key, Invoke | Delegate):
            raise TypeError(f"no run begins with a {keys.NAMES[type(key)]}")
        self.timeline, self.submission = key.timeline, key.submission
        self.agent = key.agent if isinstance(key, Invoke) else key.target
        self.payload = message["payload"]
        self.state: Any = None
        self._calls = calls_before(message)

    def call_service(
        self, service: str, backend: str, operation: str, payload: Any = None, timeout_ms: int = TIMEOUT_MS
    ) -> Any:
        """The service's answer. Errors: those of the bus's call_service."""
        self._calls += 1
        key = keys.of(Request, self.timeline, self.submission, self.agent, service, backend, operation, self._calls)
        return self.call(key, payload, None, timeout_ms)

    def delegate(self, target: str, payload: Any = None, timeout_ms: int = TIMEOUT_MS) -> Any:
        """The other agent's answer. Errors: those of the bus's delegate."""
        self._calls += 1
        key = keys.of(Delegate, self.timeline, self.submission, self.agent, target)
        return self.call(key, payload, str(self._calls), timeout_ms)

    def call(self, key: Key, payload: Any, nonce: str | None, timeout_ms: int) -> Any:
        """The answer, from the record alone or from anybody."""
        if not self.from_record:
            return self.bus.calls.call(key, payload, nonce, timeout_ms)["payload"]
        answer = self.bus.calls.recall(draft(key, payload, nonce))
        if answer is None:
            raise IdConflict(f"the record has no answer to {keys.subject(key):.200}")
        return answer["payload"]


def calls_before(message: Message) -> int:
    """The number that stands before those of a run's own calls."""
    return 0 if (message["key"] or {})["type"] == "invoke" else message["number"] * CALLS_MAX


class Rerun(TypedDict):
    """rerun: did the same code come to the same bytes, and the same state?"""

    same: bool
    payload: Any
    state: str


def rerun(bus: TimelineBus, timeline: str, submission: str, handler: Callable[[Run], Any]) -> Rerun:
    """Run an agent's code on a recorded submission, each call answered by the record; hold its result against it.

    Errors: NOT_FOUND for a submission without an end; ID_CONFLICT where the code calls otherwise than it did.
    """
    recorded = bus.replay(timeline, submission)
    complete = recorded["complete"]
    invoke = next((seen for seen in recorded["messages"] if seen["key"] and seen["key"]["type"] == "invoke"), None)
    if complete is None or invoke is None:
        raise NotFound(f"submission {submission!r:.100} has no end yet")
    # An ancestor's message, under the name that the timeline knows it by.
    run = Run(bus, {**invoke, "key": {**(invoke["key"] or {}), "timeline": timeline}}, from_record=True)
    payload = handler(run)
    state = state_hash(run.state)
    same = limits.payload(payload) == limits.payload(complete["payload"]) and state == complete["state"]
    return {"same": same, "payload": payload, "state": state}


def reply_of(message: Message) -> Key:
    """The key that answers a message."""
    return keys.reply_key(keys.from_dict(message["key"]), message["nonce"])


def is_result(key: Key) -> bool:
    """Does a reply carry an agent's state?"""
    return isinstance(key, keys.Complete | DelegateReply)
