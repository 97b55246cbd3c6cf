"""Joining: a name is one agent's for the life of the topic, and one session's at a time.

    free ──join──► reserved ──join with its token──► reserved, by another session
                       │
                       └──join without it──► AGENT_NAME_IN_USE

Each claim raises the name's fencing number. A session whose number is no longer the latest has been taken over: its
next write is AGENT_NOT_JOINED, so that two sessions never move one cursor (B10). A claim by a server that does not
know the number shows in `last_claimed_at`, which is compared as well.
"""

from __future__ import annotations

import secrets
import sqlite3
from typing import Any, NamedTuple

from refbus.kernel.errors import AgentNameInUse, AgentNotJoined, InvalidArgument
from refbus.kernel.rules import limit as limits
from refbus.topics.route import Topics, no_topic
from refbus.topics.store import Identity

AGENT_NAME_CHARS_MAX = 64


class Standing(NamedTuple):
    """What one look tells about a session on a topic: may it send, what has it read, which number comes next."""

    status: str
    last_seq: int
    next_seq: int


class Joining(Topics):
    """topic_join, and the question who this session is."""

    def topic_join(
        self,
        agent_name: str,
        topic_id: str | None = None,
        name: str | None = None,
        allow_closed: bool = False,
        reclaim_token: str | None = None,
    ) -> dict[str, Any]:
        """Become `agent_name` on a topic. The returned token brings the name back after a restart."""
        agent_name = limits.stripped("agent_name", agent_name, AGENT_NAME_CHARS_MAX)
        token = None if reclaim_token is None else limits.stripped("reclaim_token", reclaim_token)
        # An empty text is how many clients say "not given".
        if bool(topic_id) == bool(name):
            raise InvalidArgument("give exactly one of topic_id and name")
        limits.text("topic_id or name", topic_id or name)
        limits.flag("allow_closed", allow_closed)
        with self._transaction() as connection:
            if topic_id:
                topic = self._topic(connection, topic_id)
            else:
                topic = self._resolve(connection, str(name), allow_closed)
            identity = self._claim(connection, topic["topic_id"], agent_name, token)
        self._joined[topic["topic_id"]] = identity
        return topic | {"agent_name": agent_name, "reclaim_token": identity.reclaim_token}

    def _claim(self, connection: sqlite3.Connection, topic_id: str, agent_name: str, token: str | None) -> Identity:
        key = {"topic": topic_id, "agent": agent_name}
        reserved = connection.execute(_RESERVED, key).fetchone()
        now = self._now()
        if reserved is None:
            token = secrets.token_hex(16)
            connection.execute(_RESERVE, key | {"token": token, "now": now})
        else:
            present = Identity(agent_name, *reserved)
            if token in (None, present.reclaim_token) and self._joined.get(topic_id) == present:
                return present  # this session is it already
            if token != present.reclaim_token:
                raise _in_use(agent_name)
            connection.execute(_RECLAIM, key | {"now": now})
        (fence,) = connection.execute(_FENCE, key).fetchone()
        return Identity(agent_name, token, fence, now)

    def _my_name(self, topic_id: str) -> str:
        """Who this session believes to be."""
        limits.text("topic_id", topic_id)
        identity = self._joined.get(topic_id)
        if identity is None:
            raise AgentNotJoined(
                f"this session has not joined topic {topic_id!r:.80}; call topic_join first "
                "(after a restart, with the reclaim_token)"
            )
        return identity.agent_name

    def _standing(self, connection: sqlite3.Connection, topic_id: str) -> Standing:
        """Where this session stands on the topic, if it still is who it believes to be."""
        identity = self._joined[topic_id]
        row = connection.execute(_STANDING, {"topic": topic_id, "agent": identity.agent_name}).fetchone()
        if row is None:
            raise no_topic(topic_id)
        status, last_seq, next_seq, *claim = row
        if Identity(identity.agent_name, *claim) != identity:
            raise AgentNotJoined(
                f"another session reclaimed {identity.agent_name!r} on topic {topic_id!r:.80}; "
                "join again under another name, or with the reclaim_token to take it back"
            )
        return Standing(status, last_seq, next_seq)


def _in_use(agent_name: str) -> AgentNameInUse:
    return AgentNameInUse(
        f"agent_name {agent_name!r} is reserved on this topic. If it is yours, give the reclaim_token that "
        f"topic_join returned; if not, choose another name, such as {agent_name + '-2'!r}"
    )


_RESERVED = """
    SELECT reclaim_token, coalesce(fence, 0), last_claimed_at
    FROM agent_name_reservations LEFT JOIN reservation_fences USING (topic_id, agent_name)
    WHERE topic_id = :topic AND agent_name = :agent
"""

_RESERVE = """
    INSERT INTO agent_name_reservations (topic_id, agent_name, reclaim_token, created_at, last_claimed_at)
    VALUES (:topic, :agent, :token, :now, :now)
"""

_RECLAIM = """
    UPDATE agent_name_reservations SET last_claimed_at = :now WHERE topic_id = :topic AND agent_name = :agent
"""

_FENCE = """
    INSERT INTO reservation_fences (topic_id, agent_name, fence) VALUES (:topic, :agent, 1)
    ON CONFLICT (topic_id, agent_name) DO UPDATE SET fence = fence + 1
    RETURNING fence
"""

# The counter rules. A message beyond it, from a program that forgot to count, must not make sends fail for ever.
_STANDING = """
    SELECT t.status, coalesce(c.last_seq, 0),
           max(coalesce((SELECT next_seq FROM topic_seq WHERE topic_id = :topic), 1),
               coalesce((SELECT max(seq) FROM messages WHERE topic_id = :topic), 0) + 1),
           r.reclaim_token, coalesce(f.fence, 0), r.last_claimed_at
    FROM topics AS t
    LEFT JOIN cursors AS c ON c.topic_id = t.topic_id AND c.agent_name = :agent
    LEFT JOIN agent_name_reservations AS r ON r.topic_id = t.topic_id AND r.agent_name = :agent
    LEFT JOIN reservation_fences AS f ON f.topic_id = t.topic_id AND f.agent_name = :agent
    WHERE t.topic_id = :topic
"""
