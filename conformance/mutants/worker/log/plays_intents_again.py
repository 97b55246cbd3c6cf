"""A publish is noted in a file first, and played again after a crash, under a new id."""

import json
import uuid
from pathlib import Path
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": "publish"}


class PlaysIntentsAgain(WorkerBus):
    """The note goes when the message is there."""

    def __init__(self, store: Any, **options: Any) -> None:
        super().__init__(store, **options)
        self._note = Path(store) / "intent.json"
        if self._note.exists():
            agent_id, message = json.loads(self._note.read_text(encoding="utf-8"))
            super().publish(agent_id=agent_id, message={**message, "id": str(uuid.uuid4())})
            self._note.unlink()

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self._note.write_text(json.dumps([agent_id, message]), encoding="utf-8")
        reply = super().publish(agent_id=agent_id, message=message)
        self._note.unlink()
        return reply


if __name__ == "__main__":
    serve({"worker": PlaysIntentsAgain})
