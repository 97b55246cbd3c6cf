"""A received message is claimed."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.13", "comms.route.14", "comms.route.15")


class Mutant(CommsBus):
    def receive_messages(self, agent_id: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().receive_messages(agent_id, *args, **kwargs)
        for message in reply["messages"]:
            self.claim_message(agent_id, message["id"])
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
