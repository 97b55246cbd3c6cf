"""Cursor_reset is answered, then committed. A kill between the two leaves the cursor where it was."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.73",)
CHAOS = {"points": True, "only": "cursor_reset"}


class AnswersBeforeCommit(TopicsBus):
    """Keeps each reset until the next call."""

    _waiting: str | None = None

    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        self._waiting = topic_id
        cursor = {"last_seq": last_seq, "updated_at": self.store.clock.now_us() / 1_000_000}
        return {"topic_id": topic_id, "agent_name": self.lease.identity(topic_id).agent_name, "cursor": cursor}

    def topic_list(self, status: str = "open") -> dict[str, Any]:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            super().cursor_reset(waiting)
        return super().topic_list(status)


if __name__ == "__main__":
    main(AnswersBeforeCommit)
