"""A payload of a standard type may hold nothing more than its schema."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.comms.envelope import STANDARD_TYPES
from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument

KILLED_BY = (
    "comms.log.43",
    "comms.log.44",
    "comms.log.45",
    "comms.log.46",
    "comms.log.47",
    "comms.log.48",
    "comms.log.49",
)


class Mutant(CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        schema = STANDARD_TYPES.get(kwargs.get("message_type", ""))
        if schema is not None and not kwargs["payload"].keys() <= schema.keys():
            raise InvalidArgument("a member too many")
        return super().send_message(*args, **kwargs)


if __name__ == "__main__":
    serve({"comms": Mutant})
