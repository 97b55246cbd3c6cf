"""The memory of an agent on a `topics` bus over the deaths of its sessions: its names, and the seqs it has read."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from buschaos import reading
from buschaos.plan import Call
from buschaos.subjects.base import Memory
from buschaos.subjects.topics.roles import TOPICS
from busproof.bus.session import Session
from busproof.contract.history import Event


class TopicsMemory(Memory):
    """Topics by name, the tokens that bring its name back, and the seqs that were received last."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._tokens: dict[str, str] = {}
        self._received: dict[str, list[int]] = defaultdict(list)

    def enter(self, session: Session) -> None:
        """Join every topic as the agent that it was before. The first to come makes them: many come at once (B2)."""
        for name in TOPICS:
            if name not in self._ids:
                self._ids[name] = session.call("topic_create", name=name)["topic_id"]
            topic_id = self._ids[name]
            who: dict[str, Any] = {"topic_id": topic_id, "agent_name": session.agent}
            if name in self._tokens:
                who["reclaim_token"] = self._tokens[name]
            reply = session.call("topic_join", **who)
            self._tokens[name] = reply["reclaim_token"]

    def fill(self, call: Call) -> dict[str, Any]:
        """Bodies in full length; a keeper acknowledges a share of the messages it received last on this topic."""
        params = dict(call.params)
        name, items, share = params.pop("topic"), params.pop("items"), params.pop("share", None)
        received = self._received[name]
        if share is not None and (count := round(share * len(received))):
            params["ack_through"] = received[count - 1]
        return {"topic_id": self._ids[name], "outbox": [_item(**item) for item in items], **params}

    def heed(self, call: Call, params: dict[str, Any], reply: dict[str, Any]) -> None:
        """Seqs."""
        self._received[call.params["topic"]] = [message["seq"] for message in reply["received"]]


def _item(client_message_id: str, chars: int) -> dict[str, Any]:
    body = f"{client_message_id} {'.' * chars}"
    return {"content_markdown": body, "client_message_id": client_message_id}


def read_all(session: Session, events: Iterable[Event]) -> None:
    """Come back by the tokens that this agent once was given, and take the rest of each topic."""
    joined = {
        event.value["topic_id"]: event.value["reclaim_token"]
        for event in events
        if event.type == "ok" and event.op == "topic_join" and event.agent == session.agent
    }
    for topic_id, token in joined.items():
        session.call("topic_join", topic_id=topic_id, agent_name=session.agent, reclaim_token=token)
        look = functools.partial(_sync, session, topic_id)
        for _ in reading.pages(look, itemgetter("seq"), "cursor"):
            pass


def _sync(session: Session, topic_id: str) -> list[dict[str, Any]]:
    return list(session.call("sync", topic_id=topic_id, wait_seconds=0)["received"])
