"""Request and reply as one call: send, then wait for exactly the reply key.

The record answers every call that it can: a call that was answered before is not made again, whoever makes it. So an
agent that died is run anew and goes on where it was, and an agent on a fork takes over what happened before the fork.
"""

from __future__ import annotations

from typing import Any, TypedDict

from refbus.kernel import jsontext
from refbus.kernel.errors import Corrupt, IdConflict, InvalidArgument, TimedOut, after_a_part
from refbus.kernel.rules import limit as limits
from refbus.timeline import keys, token
from refbus.timeline.keys import Delegate, Invoke, Key, Request
from refbus.timeline.lineage import Lineage
from refbus.timeline.log import Log
from refbus.timeline.message import Draft, Node, draft
from refbus.timeline.store import Store

TIMEOUT_MS = 30_000
TIMEOUT_MS_MAX = 24 * 60 * 60 * 1000


class Answer(TypedDict):
    """run_agent, call_service, delegate: the reply. `replayed`: the record had it, and nothing was sent."""

    payload: Any
    number: int
    hash: str
    state: str | None
    replayed: bool


class Calls:
    """run_agent, call_service and delegate."""

    def __init__(self, store: Store, lineage: Lineage, log: Log) -> None:
        self.store, self.lineage, self.log = store, lineage, log

    def run_agent(
        self,
        timeline: str,
        submission: str,
        harness: str,
        runtime: str,
        agent: str,
        payload: Any = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> Answer:
        """Submit to an agent and wait until it has finished.

        Errors: those of send; TIMEOUT after timeout_ms of real time: the message stays sent, and the same call again
        gets the answer once it is there (T3). ID_CONFLICT where the timeline sees the same key with other content.
        """
        key = keys.of(Invoke, timeline, submission, harness, runtime, agent)
        return self.call(key, payload, None, timeout_ms)

    def call_service(
        self,
        timeline: str,
        submission: str,
        agent: str,
        service: str,
        backend: str,
        operation: str,
        sequence: int,
        payload: Any = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> Answer:
        """Call a service and wait for its response. `sequence` counts the agent's calls. Errors: those of run_agent."""
        key = keys.of(Request, timeline, submission, agent, service, backend, operation, sequence)
        return self.call(key, payload, None, timeout_ms)

    def delegate(
        self,
        timeline: str,
        submission: str,
        caller: str,
        target: str,
        nonce: str,
        payload: Any = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> Answer:
        """Hand a sub-task to another agent and wait for the reply with this nonce. Errors: those of run_agent."""
        return self.call(keys.of(Delegate, timeline, submission, caller, target), payload, nonce, timeout_ms)

    def call(self, key: Key, payload: Any, nonce: str | None, timeout_ms: int) -> Answer:
        """The common way of all three."""
        if not isinstance(key, Invoke | Request | Delegate):
            raise InvalidArgument(f"nobody answers a {keys.NAMES[type(key)]}")
        limits.integer("timeout_ms", timeout_ms, 0, TIMEOUT_MS_MAX)
        request = draft(key, payload, nonce)
        known = self.recall(request)
        if known is not None:
            return known
        self.log.append(request)
        subject = keys.subject(keys.reply_key(key, nonce))
        with after_a_part():  # the request is recorded
            node = self.store.queue.find(subject, wait_s=timeout_ms / 1000)
        if node is None:
            raise TimedOut(f"no answer on {subject:.200} within {timeout_ms} ms")
        return _answer(node, replayed=False)

    def recall(self, request: Draft) -> Answer | None:
        """The record's answer. Raises ID_CONFLICT where it has the same key with other content.

        The nearest timeline that has the request or its reply decides, so that no fork is given its parent's answer to
        another question (T4).
        """
        nonce = None if request.nonce is None else token.decode(request.nonce)
        reply = keys.reply_key(request.key, nonce)
        for span in self.lineage.sight(request.key.timeline):
            known = self.lineage.find(span, reply)  # first: a request read after its answer is the answered one
            before = self.lineage.find(span, request.key, nonce)
            if before is not None and before.payload != request.payload:
                raise IdConflict(f"message {before.number} of the timeline has this key and other content")
            if known is not None:
                return _answer(known, replayed=True)
            if before is not None:
                return None
        return None


def _answer(node: Node, *, replayed: bool) -> Answer:
    try:
        if not node.is_whole:
            raise ValueError("a column is of another type")
        payload = jsontext.decode(node.payload)
    except ValueError as error:
        raise Corrupt(f"the answer, message {node.number!a:.20}, is damaged: {error!s:.100}") from error
    return {"payload": payload, "number": node.number, "hash": node.hash, "state": node.state, "replayed": replayed}
