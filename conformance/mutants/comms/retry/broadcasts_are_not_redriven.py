"""The dead letter of a broadcast cannot be redriven."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import limit as limits

KILLED_BY = ("comms.retry.18",)


class Mutant(CommsBus):
    def redrive(self, id: str) -> dict[str, Any]:
        limits.text("id", id)
        return {"redriven": False} if ":" in id else super().redrive(id)


if __name__ == "__main__":
    serve({"comms": Mutant})
