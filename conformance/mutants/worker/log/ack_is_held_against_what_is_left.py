"""After an archive an ack of the newest seq is refused."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.45",)


class Mutant(WorkerBus):
    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        (left,) = self.db.row("SELECT coalesce(max(seq), 0) FROM messages")
        if seq > left:
            raise InvalidArgument("no such seq")
        return super().ack(agent_id, seq)


if __name__ == "__main__":
    serve({"worker": Mutant})
