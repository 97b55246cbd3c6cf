"""Export: a topic as people read it (Markdown), or as programs do (JSON Lines)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from refbus.kernel.rules import limit as limits
from refbus.kernel.store import Store
from refbus.topics.message import Message, as_messages
from refbus.topics.route import Route
from refbus.topics.shown import line, name, printed, when

ROWS_AT_ONCE = 500


class Export:
    """export_markdown and export_jsonl. Both are read a part at a time, and see what comes meanwhile."""

    def __init__(self, store: Store, route: Route) -> None:
        self._store, self._route = store, route

    def export_jsonl(self, topic_id: str) -> Iterator[str]:
        """Every message as one line of JSON, in seq order, with the fields that sync returns.

        Errors: TOPIC_NOT_FOUND.
        """
        for message in self.messages(topic_id):
            yield json.dumps(message) + "\n"

    def export_markdown(self, topic_id: str) -> Iterator[str]:
        """The conversation under its topic's name, bodies quoted. A reply names the message that it answers by number.

        Errors: TOPIC_NOT_FOUND.
        """
        topic = self._route.topic_row(topic_id)
        ended = f", closed {when(topic['closed_at'] or 0.0)}" if topic["status"] == "closed" else ""
        yield f"# {line(topic['name'])}\n\nTopic `{topic_id}`, created {when(topic['created_at'])}{ended}\n"
        if topic["close_reason"]:
            yield f"\n{printed(topic['close_reason'].rstrip())}\n"
        seqs: dict[str, int] = {}
        for message in self.messages(topic_id):
            seqs[message["message_id"]] = message["seq"]
            answered = seqs.get(message["reply_to"] or "")
            reply = "" if answered is None else f", reply to {answered}"
            yield (
                f"\n## {message['seq']}. {name(message['sender'])} ({name(message['message_type'])}{reply})\n\n"
                f"{when(message['created_at'])}\n\n{printed(message['content_markdown'].rstrip())}\n"
            )

    def messages(self, topic_id: str, after: int = 0) -> Iterator[Message]:
        """All messages of a topic after a seq, in seq order. Errors: INVALID_ARGUMENT, TOPIC_NOT_FOUND."""
        limits.text("topic_id", topic_id)
        limits.integer("after", after)
        while True:
            with self._store.snapshot() as tx:
                self._route.topic(tx, topic_id)
                rows = tx.rows(_AFTER, (topic_id, after, ROWS_AT_ONCE))
            if not rows:
                return
            yield from as_messages(rows)
            after = rows[-1][2]


_AFTER = """
    SELECT message_id, topic_id, seq, sender, message_type, reply_to,
           content_markdown, metadata_json, client_message_id, created_at
    FROM messages WHERE topic_id = ? AND seq > ? AND typeof(seq) = 'integer' ORDER BY seq LIMIT ?
"""
