"""The id is a hash of the content."""

import uuid
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.14",)


class Mutant(CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        kwargs.setdefault("message_id", str(uuid.uuid5(uuid.NAMESPACE_OID, repr(kwargs))))
        return super().send_message(*args, **kwargs)


if __name__ == "__main__":
    serve({"comms": Mutant})
