"""The id that is returned is not the message's."""

import uuid
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.02",)
CONTROL = "log.defaults"


class Mutant(CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        super().send_message(*args, **kwargs)
        return {"message_id": str(uuid.uuid4())}


if __name__ == "__main__":
    serve({"comms": Mutant})
