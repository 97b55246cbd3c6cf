"""The loop handles the messages behind a failed one."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.03",)


class Mutant(WorkerBus):
    def process_loop(self, agent_id: str, limit: int = 100, fail_ids: Any = ()) -> dict[str, Any]:
        failed, handled = None, []
        for message in self.poll(agent_id, limit=limit)["messages"]:
            if message["id"] in fail_ids:
                failed = message["id"]
                continue
            handled.append(message["id"])
            self.ack(agent_id, message["seq"])
        return {"handled": handled, "failed": failed}


if __name__ == "__main__":
    serve({"worker": Mutant})
