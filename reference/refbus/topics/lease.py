"""Joining: a session acts under a name of a topic as long as its claim of the name is the latest.

`kernel.rules.sync` has the rules; this file has the reservations, and the topics that the session has joined.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

from refbus.kernel.errors import AgentNameInUse, AgentNotJoined, InvalidArgument
from refbus.kernel.rules import limit as limits
from refbus.kernel.rules import sync as rules
from refbus.kernel.rules.sync import Claim, Join
from refbus.kernel.store import Store
from refbus.kernel.transaction import Transaction
from refbus.topics.route import Route, Topic

AGENT_NAME_CHARS_MAX = 64


class Identity(NamedTuple):
    """The identity of a session on a topic: a name, and its claim of it."""

    topic_id: str
    agent_name: str
    claim: Claim


class Joined(Topic):
    """The reply of topic_join."""

    agent_name: str
    reclaim_token: str


class Lease:
    """topic_join, and the identity of this session."""

    def __init__(self, store: Store, route: Route) -> None:
        self._store, self._route = store, route
        # By topic, in memory and no longer: a client joins again after a restart (seed 004, 2.3).
        self.joined: dict[str, Identity] = {}

    def topic_join(
        self,
        agent_name: str,
        topic_id: str | None = None,
        name: str | None = None,
        allow_closed: bool = False,
        reclaim_token: str | None = None,
    ) -> Joined:
        """Become `agent_name` on a topic. The returned token brings the name back after a restart.

        Errors: INVALID_ARGUMENT, TOPIC_NOT_FOUND, AGENT_NAME_IN_USE.
        """
        agent_name = limits.visible("agent_name", limits.stripped("agent_name", agent_name, AGENT_NAME_CHARS_MAX))
        token = None if reclaim_token is None else limits.stripped("reclaim_token", reclaim_token)
        # An empty text is how many clients say "not given".
        if bool(topic_id) == bool(name):
            raise InvalidArgument("give exactly one of topic_id and name")
        limits.text("topic_id or name", topic_id or name)
        limits.flag("allow_closed", allow_closed)
        with self._store.transaction() as tx:
            if topic_id:
                topic = self._route.topic(tx, topic_id)
            else:
                topic = self._route.resolve(tx, str(name), allow_closed)
            claim = self.claim(tx, topic["topic_id"], agent_name, token)
        self.joined[topic["topic_id"]] = Identity(topic["topic_id"], agent_name, claim)
        return {**topic, "agent_name": agent_name, "reclaim_token": claim.reclaim_token}

    def claim(self, tx: Transaction, topic_id: str, agent_name: str, token: str | None) -> Claim:
        """This session's claim of a name. Errors: AGENT_NAME_IN_USE."""
        latest = self.latest_claim(tx, topic_id, agent_name)
        mine = self.joined.get(topic_id)
        own = mine.claim if mine is not None and mine.agent_name == agent_name else None
        decision = rules.join(latest, own, token)
        if decision is Join.REFUSE:
            raise _in_use(agent_name)
        if latest is not None and decision is Join.KEEP:
            return latest
        token = secrets.token_hex(16) if latest is None else latest.reclaim_token
        key = {"topic": topic_id, "agent": agent_name}
        tx.execute(_RESERVE if latest is None else _RECLAIM, key | {"token": token, "now": tx.now_s})
        (fence,) = tx.execute(_RAISE_FENCE, key).fetchone()
        return Claim(token, fence, tx.now_s)

    def latest_claim(self, tx: Transaction, topic_id: str, agent_name: str) -> Claim | None:
        """The claim that holds a name now; None: the name is free."""
        row = tx.execute(_LATEST, (topic_id, agent_name)).fetchone()
        return None if row is None else Claim(*row)

    def identity(self, topic_id: str) -> Identity:
        """The identity that this session believes it has. Errors: INVALID_ARGUMENT, AGENT_NOT_JOINED."""
        limits.text("topic_id", topic_id)
        identity = self.joined.get(topic_id)
        if identity is None:
            raise AgentNotJoined(
                f"this session has not joined topic {topic_id!r:.80}; call topic_join first "
                "(after a restart, with the reclaim_token)"
            )
        return identity

    def check(self, identity: Identity, latest: Claim | None) -> None:
        """Is it still so? A session that was taken over may not act (B10). Errors: AGENT_NOT_JOINED."""
        topic_id, agent_name, claim = identity
        if not rules.may_act(claim, latest):
            raise AgentNotJoined(
                f"another session reclaimed {agent_name!r} on topic {topic_id!r:.80}; "
                "join again under another name, or with the reclaim_token to take it back"
            )


def _in_use(agent_name: str) -> AgentNameInUse:
    return AgentNameInUse(
        f"agent_name {agent_name!r} is reserved on this topic. If it is yours, give the reclaim_token that "
        f"topic_join returned; if not, choose another name, such as {agent_name + '-2'!r}"
    )


_LATEST = """
    SELECT reclaim_token, coalesce(fence, 0), last_claimed_at
    FROM agent_name_reservations LEFT JOIN reservation_fences USING (topic_id, agent_name)
    WHERE topic_id = ? AND agent_name = ?
"""

_RESERVE = """
    INSERT INTO agent_name_reservations (topic_id, agent_name, reclaim_token, created_at, last_claimed_at)
    VALUES (:topic, :agent, :token, :now, :now)
"""

_RECLAIM = """
    UPDATE agent_name_reservations SET last_claimed_at = :now WHERE topic_id = :topic AND agent_name = :agent
"""

_RAISE_FENCE = """
    INSERT INTO reservation_fences (topic_id, agent_name, fence) VALUES (:topic, :agent, 1)
    ON CONFLICT (topic_id, agent_name) DO UPDATE SET fence = fence + 1
    RETURNING fence
"""
