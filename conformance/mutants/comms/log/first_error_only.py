"""Only one of all faults is told."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.63",)


class Mutant(CommsBus):
    def validate_message(self, message: Any) -> dict[str, Any]:
        reply = super().validate_message(message)
        del reply["errors"][1:]
        return {"valid": not reply["errors"], "errors": reply["errors"]}


if __name__ == "__main__":
    serve({"comms": Mutant})
