"""Replay: a submission as it happened, from the record alone. No agent, service or network is asked."""

from __future__ import annotations

import hashlib
from typing import TypedDict

from refbus.kernel.errors import Corrupt, NotFound
from refbus.timeline import token
from refbus.timeline.keys import NAMES, Complete
from refbus.timeline.lineage import Lineage
from refbus.timeline.message import Message, as_message, link


class Replayed(TypedDict):
    """replay: the submission's messages in their order, its complete, and a digest of all hashes."""

    messages: list[Message]
    complete: Message | None
    digest: str


class Replay:
    """replay."""

    def __init__(self, lineage: Lineage) -> None:
        self.lineage = lineage

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
            if key is not None and key["type"] == NAMES[Complete]:
                complete = messages[-1]
        if not messages:
            raise NotFound(f"timeline {timeline!r:.100} sees nothing of submission {submission!r:.100}")
        return {"messages": messages, "complete": complete, "digest": digest.hexdigest()}
