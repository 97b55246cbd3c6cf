"""A missing field is not told."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.53",)


class Mutant(CommsBus):
    def validate_message(self, message: Any) -> dict[str, Any]:
        reply = super().validate_message(message)
        reply["errors"] = [e for e in reply["errors"] if "field: channel" not in e]
        return {"valid": not reply["errors"], "errors": reply["errors"]}


if __name__ == "__main__":
    serve({"comms": Mutant})
