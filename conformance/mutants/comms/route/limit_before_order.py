"""The oldest few are taken, then ordered."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.09",)


class Mutant(CommsBus):
    def _ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
        oldest = sorted(super()._ready(agent_id, channels, 10**6), key=lambda row: row["timestamp"])[:limit]
        return sorted(oldest, key=lambda row: (-row["priority"], row["timestamp"]))


if __name__ == "__main__":
    serve({"comms": Mutant})
