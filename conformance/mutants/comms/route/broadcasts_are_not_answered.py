"""An agent that answers a broadcast has no name."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.30",)


class Mutant(CommsBus):
    def send_response(self, original_message: dict[str, Any], response_payload: Any, **more: Any) -> dict[str, Any]:
        more.pop("agent_id", None)
        return super().send_response(original_message, response_payload, **more)


if __name__ == "__main__":
    serve({"comms": Mutant})
