"""A redriven message has priority 5 and is nobody's answer."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.13",)


class Mutant(CommsBus):
    def _put_back(self, connection: Any, message: Any, agent_id: Any) -> None:
        super()._put_back(connection, {**message, "priority": 5, "correlation_id": None}, agent_id)


if __name__ == "__main__":
    serve({"comms": Mutant})
