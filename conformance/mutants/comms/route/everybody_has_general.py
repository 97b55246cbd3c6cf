"""Every agent is subscribed to general."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.19",)


class Mutant(CommsBus):
    def get_subscribed_channels(self, agent_id: str) -> dict[str, Any]:
        return {"channels": ["general", *super().get_subscribed_channels(agent_id)["channels"]]}


if __name__ == "__main__":
    serve({"comms": Mutant})
