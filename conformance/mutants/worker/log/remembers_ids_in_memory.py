"""A retry is known by this process's memory. Another process stores it again."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": "publish"}


class RemembersIds(WorkerBus):
    """Stores under its own ids, and knows the callers' ids for them."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._known: dict[str, dict[str, Any]] = {}

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        id_ = message.get("id")
        if id_ in self._known:
            return self._known[id_]
        taken = id_ is not None and self.db.row("SELECT 1 FROM messages WHERE id = ?", (id_,))
        stored = {**message, "id": f"{id_}'"} if taken else message
        reply = super().publish(agent_id=agent_id, message=stored)
        if id_ is not None:
            self._known[id_] = reply
        return reply


if __name__ == "__main__":
    serve({"worker": RemembersIds})
