"""A batch is one transaction a message: messages before a bad one stay."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.52", "worker.log.72")


class Mutant(WorkerBus):
    def publish_many(self, agent_id: str, messages: Any) -> dict[str, Any]:
        replies = [self.publish(agent_id, message) for message in messages]
        return {"ids": [reply["id"] for reply in replies], "seqs": [reply["seq"] for reply in replies]}


if __name__ == "__main__":
    serve({"worker": Mutant})
