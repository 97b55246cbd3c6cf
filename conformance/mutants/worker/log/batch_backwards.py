"""A batch is stored from its end."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.27",)


class Mutant(WorkerBus):
    def publish_many(self, agent_id: str, messages: Any) -> dict[str, Any]:
        reply = super().publish_many(agent_id, messages[::-1] if isinstance(messages, list) else messages)
        return {"ids": reply["ids"][::-1], "seqs": reply["seqs"][::-1]}


if __name__ == "__main__":
    serve({"worker": Mutant})
