"""Of several channels one is looked at."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.02",)


class Mutant(CommsBus):
    def _ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
        return super()._ready(agent_id, channels[:1], limit)


if __name__ == "__main__":
    serve({"comms": Mutant})
