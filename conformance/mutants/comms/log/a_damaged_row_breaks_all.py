"""One payload that is no JSON breaks the whole answer."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import Corrupt

KILLED_BY = ("comms.log.88",)


class Mutant(CommsBus):
    def _ready(self, *args: Any) -> list[dict[str, Any]]:
        messages = super()._ready(*args)
        if any("payload_error" in message for message in messages):
            raise Corrupt("a payload is no JSON")
        return messages


if __name__ == "__main__":
    serve({"comms": Mutant})
