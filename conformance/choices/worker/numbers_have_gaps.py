"""Every publish leaves a gap behind it: seqs rise by three (W14)."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

SKIP = "UPDATE sqlite_sequence SET seq = seq + 2 WHERE name = 'messages'"


class Choice(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        with self.store.transaction() as tx:
            tx.execute(SKIP)
        return super().publish(agent_id, message)


if __name__ == "__main__":
    serve({"worker": Choice})
