"""The seed's own example is found invalid."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.52",)


class Mutant(CommsBus):
    def validate_message(self, message: Any) -> dict[str, Any]:
        reply = super().validate_message(message)
        reply["errors"] += ["no UUID"] * (isinstance(message, dict) and message.get("correlation_id") == "req-001")
        return {"valid": not reply["errors"], "errors": reply["errors"]}


if __name__ == "__main__":
    serve({"comms": Mutant})
