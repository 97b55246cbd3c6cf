"""All channels are shown, whichever is asked for."""

from typing import Any

from refbus.comms import bus
from refbus.comms.route import Route
from refbus.driver import serve

KILLED_BY = ("comms.route.01", "comms.route.03", "comms.route.39")


class Mutant(Route):
    def ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
        every = [row[0] for row in self.store.db.rows("SELECT DISTINCT channel FROM messages")]
        return super().ready(agent_id, every, limit)


bus.Route = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
