"""Any agent that answers a message does so in its addressee's name."""

from typing import Any

from refbus.comms import bus
from refbus.comms.request import Requests
from refbus.driver import serve

KILLED_BY = ("comms.route.42",)


class Mutant(Requests):
    def send_response(self, original_message: Any, response_payload: Any, *more: Any, **said: Any) -> Any:
        if original_message.get("to_agent") is not None:
            said.pop("agent_id", None)
        return super().send_response(original_message, response_payload, *more, **said)


bus.Requests = Mutant


if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
