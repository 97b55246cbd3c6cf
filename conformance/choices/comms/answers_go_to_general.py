"""An answer goes to the channel general, wherever the request was (C17)."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.comms.envelope import validate_message
from refbus.driver import serve


class Choice(CommsBus):
    def send_response(
        self,
        original_message: Any,
        response_payload: Any,
        artifact_path: Any = None,
        agent_id: Any = None,
        message_id: Any = None,
    ) -> dict[str, Any]:
        if validate_message(original_message)[0]:
            original_message = {**original_message, "channel": "general"}
        return super().send_response(original_message, response_payload, artifact_path, agent_id, message_id)


if __name__ == "__main__":
    serve({"comms": Choice})
