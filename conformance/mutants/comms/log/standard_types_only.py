"""Only the eight standard types are sent."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument

KILLED_BY = ("comms.log.51",)
CONTROL = "log.defaults"
STANDARD = (
    "context.query",
    "context.response",
    "task.claim",
    "task.update",
    "vote.initiate",
    "broadcast",
    "heartbeat",
    "note",
)


class Mutant(CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if kwargs.get("message_type") not in STANDARD:
            raise InvalidArgument("no such type")
        return super().send_message(*args, **kwargs)


if __name__ == "__main__":
    serve({"comms": Mutant})
