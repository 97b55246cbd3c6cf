"""A blob that cannot be written is left out, and the message stored without it."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import IoError
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.55",)
CHAOS = {"disk_full": True, "only": "publish with blob", "levels": (), "errors": ("EMFILE",)}


class GoesWithout(WorkerBus):
    """Better than nothing."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id=agent_id, message=message)
        except IoError:
            small = {name: value for name, value in message.items() if name != "payload"}
            return super().publish(agent_id=agent_id, message=small)


if __name__ == "__main__":
    serve({"worker": GoesWithout})
