"""Planted fault: topic_close is answered, then committed. A kill between the two opens the topic again."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.server import main


class AnswersBeforeCommit(TopicsBus):
    """Keeps each close until the next call."""

    _waiting: str | None = None

    def topic_close(self, topic_id: str, reason: str | None = None) -> dict[str, Any]:
        self._waiting = topic_id
        return {"topic_id": topic_id, "status": "closed"}

    def topic_list(self, status: str = "open") -> dict[str, Any]:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            super().topic_close(waiting, "done")
        return super().topic_list(status)


if __name__ == "__main__":
    main(AnswersBeforeCommit)
