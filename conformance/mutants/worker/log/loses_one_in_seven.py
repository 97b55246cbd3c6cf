"""Every seventh publish is acknowledged and not stored."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.53",)


class Mutant(WorkerBus):
    count = 0

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self.count += 1
        if self.count % 7 == 0:
            return {
                "id": message.get("id", "lost"),
                "seq": self.db.row("SELECT coalesce(max(seq), 0) FROM messages")[0] + 1,
            }
        return super().publish(agent_id, message)


if __name__ == "__main__":
    serve({"worker": Mutant})
