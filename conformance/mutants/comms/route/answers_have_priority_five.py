"""An answer has the default priority."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.28",)


class Mutant(CommsBus):
    def send_response(self, original_message: dict[str, Any], response_payload: Any, **more: Any) -> dict[str, Any]:
        return super().send_response({**original_message, "priority": 5}, response_payload, **more)


if __name__ == "__main__":
    serve({"comms": Mutant})
