"""Each process of an agent has a bucket of its own."""

import os
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.limit.06",)


class Mutant(CommsBus):
    def _pay(self, connection: Any, agent_id: str) -> None:
        super()._pay(connection, f"{agent_id} in {os.getpid()}")


if __name__ == "__main__":
    serve({"comms": Mutant})
