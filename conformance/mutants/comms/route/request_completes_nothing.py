"""The answer that a request took is received again."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.34",)


class Mutant(CommsBus):
    def _take_answer(self, agent_id: str, correlation_id: str, sent: str) -> dict[str, Any] | None:
        rows = [m for m in self._ready(agent_id, ["general"], 1000) if m["correlation_id"] == correlation_id]
        return next((m for m in rows if m["id"] != sent), None)


if __name__ == "__main__":
    serve({"comms": Mutant})
