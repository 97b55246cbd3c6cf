"""One payload that is no JSON breaks the whole answer."""

from typing import Any

from refbus.comms import bus
from refbus.comms.route import Route
from refbus.driver import serve
from refbus.kernel.errors import Corrupt

KILLED_BY = ("comms.log.88",)


class Mutant(Route):
    def ready(self, *args: Any) -> list[dict[str, Any]]:
        messages = super().ready(*args)
        if any("payload_error" in message for message in messages):
            raise Corrupt("a payload is no JSON")
        return messages


bus.Route = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
