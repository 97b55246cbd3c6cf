"""meta says another schema_version."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.37",)


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self.db.write("UPDATE meta SET value = 'one' WHERE key = 'schema_version'")
        return super().publish(agent_id, message)


if __name__ == "__main__":
    serve({"worker": Mutant})
