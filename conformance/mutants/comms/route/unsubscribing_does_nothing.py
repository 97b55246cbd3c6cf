"""Once subscribed, always subscribed."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.22",)


class Mutant(CommsBus):
    def unsubscribe_from_channel(self, agent_id: str, channel_name: str) -> dict[str, Any]:
        return {}


if __name__ == "__main__":
    serve({"comms": Mutant})
