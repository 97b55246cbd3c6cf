"""An answer goes to the agent bus."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.26",)


class Mutant(CommsBus):
    def send_response(self, original_message: dict[str, Any], response_payload: Any, **more: Any) -> dict[str, Any]:
        original_message = {**original_message, "from_agent": "bus"}
        return super().send_response(original_message, response_payload, **more)


if __name__ == "__main__":
    serve({"comms": Mutant})
