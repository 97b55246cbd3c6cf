"""The answers of a `topics` bus to those who ask: its state as far as tools tell it, if it does not store in SQLite.

Rows as a dump has them. Tokens are never shown again, nor are agents that reserved a name without ever syncing.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any
from uuid import uuid4

from buschaos import reading
from busproof.bus.session import Session
from busproof.contract import HelloReply

_STRANGER = "stranger-"  # a name of the kit's, new at each look: a new name reads a topic from its beginning
_APART = 100  # from the processes of a history that play in it
_EVER_S = 10**6
_COLUMNS = ("seq", "sender", "message_type", "content_markdown", "metadata", "reply_to", "client_message_id")


def shown(session: Session, hello: HelloReply) -> dict[str, Any]:
    """Topics, where each peer that has synced stands, and all messages, as a stranger reads them."""
    name = f"{_STRANGER}{uuid4().hex[:12]}"
    stranger = Session(session.door, session.recorder, process=session.process + _APART, agent=name)
    topics = sorted(session.call("topic_list", status="all")["topics"], key=itemgetter("name", "topic_id"))
    state: dict[str, list[dict[str, Any]]] = {"topics": topics, "messages": [], "cursors": []}
    for topic in topics:
        id_ = topic["topic_id"]
        if "presence" in hello.nouns:
            peers = session.call("topic_presence", topic_id=id_, window_seconds=_EVER_S, limit=200)["peers"]
            state["cursors"] += [
                {"topic_id": id_, "agent_name": peer["agent_name"], "last_seq": peer["last_seq"]}
                for peer in sorted(peers, key=itemgetter("agent_name"))
                if not peer["agent_name"].startswith(_STRANGER)
            ]
        stranger.call("topic_join", topic_id=id_, agent_name=name, allow_closed=True)
        for page in reading.pages(_reader(stranger, id_), itemgetter("seq"), "cursor"):
            state["messages"] += [{"topic_id": id_, **{name: row.get(name) for name in _COLUMNS}} for row in page]
    return dict(state)


def _reader(session: Session, topic_id: str) -> Callable[[], list[dict[str, Any]]]:
    return lambda: list(session.call("sync", topic_id=topic_id, wait_seconds=0)["received"])
