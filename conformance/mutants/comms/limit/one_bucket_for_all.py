"""All agents share one bucket."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.limit.05",)


class Mutant(CommsBus):
    def _pay(self, connection: Any, agent_id: str) -> None:
        super()._pay(connection, "everybody")


if __name__ == "__main__":
    serve({"comms": Mutant})
