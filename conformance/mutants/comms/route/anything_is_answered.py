"""A value that is no envelope is answered all the same."""

import uuid
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.31",)


class Mutant(CommsBus):
    def send_response(self, original_message: dict[str, Any], response_payload: Any, **more: Any) -> dict[str, Any]:
        blank = {
            "id": str(uuid.uuid4()),
            "type": "note",
            "version": "1.0",
            "timestamp": self.store.now(),
            "from_agent": "nobody",
            "to_agent": more.get("agent_id"),
            "channel": "general",
            "priority": 5,
            "payload": {},
        }
        return super().send_response({**blank, **original_message}, response_payload, **more)


if __name__ == "__main__":
    serve({"comms": Mutant})
