"""Sending, answering, the record, and its replay: no agent, service or network is asked for that."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any, TypedDict

from refbus.kernel.errors import BusError, Corrupt, InvalidArgument, NotFound
from refbus.kernel.rules import limit as limits
from refbus.timeline import keys, token
from refbus.timeline.keys import Complete, Delegate, DelegateReply, Invoke, Request
from refbus.timeline.lineage import Lineage
from refbus.timeline.message import Draft, Message, Node, as_message, draft, link, state_hash
from refbus.timeline.store import Store

LIMIT = 1000


class Sent(TypedDict):
    """send, reply: where the message stands. `duplicate`: it was there before, and nothing was appended."""

    subject: str
    number: int
    hash: str
    duplicate: bool


class Logged(TypedDict):
    """log."""

    messages: list[Message]


class State(TypedDict):
    """state: the hash of an agent's state after its newest result, and that one's number; None before the first."""

    state: str | None
    number: int | None


class Replayed(TypedDict):
    """replay: the submission's messages in their order, its complete, and a digest of all hashes."""

    messages: list[Message]
    complete: Message | None
    digest: str


class Log:
    """send, reply, log, state and replay."""

    def __init__(self, store: Store, lineage: Lineage) -> None:
        self.store, self.lineage = store, lineage

    def send(self, key: dict[str, Any], payload: Any = None, nonce: str | None = None) -> Sent:
        """Record and send an invoke, a request or a delegate; one append, durable when this returns.

        A message is known by its key (a delegate by its nonce, too): the same again is the first one, `duplicate`.
        Errors: INVALID_ARGUMENT, PAYLOAD_TOO_LARGE; ID_CONFLICT for the same key with other content.
        """
        meant = keys.from_dict(key)
        if not isinstance(meant, Invoke | Request | Delegate):
            raise InvalidArgument(f"a {keys.NAMES[type(meant)]} is not sent by itself: reply and fork do that")
        keys.check_nonce(meant, nonce)
        return self.append(draft(meant, payload, nonce))

    def reply(self, key: dict[str, Any], payload: Any = None, nonce: str | None = None, state: Any = None) -> Sent:
        """Answer the message with this key: its one reply key gets the payload, a result also the state's hash.

        Nobody need have asked. A second answer is the first one again, or ID_CONFLICT. Errors: as send.
        """
        answer = keys.reply_key(keys.from_dict(key), nonce)
        hashed = state_hash(state) if isinstance(answer, Complete | DelegateReply) else None
        if hashed is None and state is not None:
            raise InvalidArgument("a response takes no state: it is an agent's")
        return self.append(draft(answer, payload, state=hashed))

    def log(self, timeline: str, submission: str | None = None, after: int = 0, limit: int | None = None) -> Logged:
        """The messages that the timeline sees, in its order: on a fork, its ancestors' first. Errors: NOT_FOUND."""
        token.name("timeline", timeline)
        if submission is not None:
            token.name("submission", submission)
        limits.integer("after", after)
        count = LIMIT if limit is None else limits.integer("limit", limit, 1)
        seen = self.lineage.read(timeline, after, submission)
        return {"messages": [as_message(node) for node in itertools.islice(seen, count)]}

    def state(self, timeline: str, agent: str) -> State:
        """The state's hash of the agent's newest result that the timeline sees.

        Errors: NOT_FOUND; CORRUPT where a later result is damaged, and may be the agent's.
        """
        token.name("timeline", timeline)
        token.name("agent", agent)
        newest: State = {"state": None, "number": None}
        damaged = None
        for node in self.lineage.read(timeline):
            author = _author(node) if node.state is not None else ""
            if author is None:
                damaged = node.number
            elif author == agent:
                newest, damaged = {"state": node.state, "number": node.number}, None
        if damaged is not None:
            raise Corrupt(f"message {damaged} is damaged: nobody can say whose result it is")
        return newest

    def replay(self, timeline: str, submission: str) -> Replayed:
        """Every message of the submission that the timeline sees, each held against its hash.

        Errors: NOT_FOUND where there is none; CORRUPT where a message is not what was recorded.
        """
        token.name("timeline", timeline)
        token.name("submission", submission)
        messages, digest = [], hashlib.sha256()
        complete = None
        for node in self.lineage.read(timeline, submission=submission):
            if node.hash != link(*node[:-1]):
                raise Corrupt(f"message {node.number} is not what was recorded")
            messages.append(as_message(node))
            digest.update(node.hash.encode())
            key = messages[-1]["key"]
            if key is not None and key["type"] == keys.NAMES[Complete]:
                complete = messages[-1]
        if not messages:
            raise NotFound(f"timeline {timeline!r:.100} sees nothing of submission {submission!r:.100}")
        return {"messages": messages, "complete": complete, "digest": digest.hexdigest()}

    def append(self, message: Draft) -> Sent:
        """A message that was checked."""
        node, duplicate = self.store.queue.append(message)
        return {"subject": node.subject, "number": node.number, "hash": node.hash, "duplicate": duplicate}


def _author(node: Node) -> str | None:
    """The agent whose result it is; the empty name if it is nobody's. None: it is damaged, and may be anybody's."""
    try:
        key = keys.parse(node.subject)
    except BusError:
        return None
    match key:
        case Complete(agent=agent) | DelegateReply(target=agent) if node.is_whole:
            return agent
        case Complete() | DelegateReply():
            return None
    return ""
