"""Whatever channel is asked for, all are shown."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.01", "comms.route.03", "comms.route.39")


class Mutant(CommsBus):
    def _ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
        every = [row[0] for row in self.db.rows("SELECT DISTINCT channel FROM messages")]
        return super()._ready(agent_id, every, limit)


if __name__ == "__main__":
    serve({"comms": Mutant})
