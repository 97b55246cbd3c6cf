"""By default a hundred are received."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.12",)


class Mutant(CommsBus):
    def receive_messages(self, agent_id: str, channels: list[str], limit: int = 100, **more: Any) -> dict[str, Any]:
        return super().receive_messages(agent_id, channels, limit, **more)


if __name__ == "__main__":
    serve({"comms": Mutant})
