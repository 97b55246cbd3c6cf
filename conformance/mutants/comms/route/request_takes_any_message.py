"""A request takes the first message for its answer."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.33",)


class Mutant(CommsBus):
    def _take_answer(self, agent_id: str, correlation_id: str, sent: str) -> dict[str, Any] | None:
        messages = self._ready(agent_id, ["general"], 1)
        return messages[0] if messages else None


if __name__ == "__main__":
    serve({"comms": Mutant})
