"""Any error of a claim is "somebody else has it" (W8 of another bus); any error of a send is BUSY."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import BusError

KILLED_BY = ("comms.log.73",)
CHAOS = {"disk_full": True, "only": "send_message", "levels": (0,)}


class SwallowsFullDisk(CommsBus):
    """A full disk reads as contention."""

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        try:
            return super().claim_message(agent_id=agent_id, message_id=message_id)
        except BusError:
            return {"claimed": False}

    def send_message(self, **message: Any) -> dict[str, Any]:
        try:
            return super().send_message(**message)
        except BusError as error:
            error.code = "BUSY"
            raise


if __name__ == "__main__":
    serve({"comms": SwallowsFullDisk})
