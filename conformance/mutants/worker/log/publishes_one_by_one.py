"""Publish_many is many transactions. A kill leaves a part of the batch."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": "publish_many"}


class PublishesOneByOne(WorkerBus):
    """Not all or none."""

    def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
        replies = [self.publish(agent_id=agent_id, message=message) for message in messages]
        return {"ids": [reply["id"] for reply in replies], "seqs": [reply["seq"] for reply in replies]}


if __name__ == "__main__":
    serve({"worker": PublishesOneByOne})
