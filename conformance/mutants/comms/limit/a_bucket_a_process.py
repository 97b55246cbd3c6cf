"""Each process of an agent has a bucket of its own."""

import os
from typing import Any

from refbus.comms import bus
from refbus.comms.limit import RateLimit
from refbus.driver import serve

KILLED_BY = ("comms.limit.06",)


class Mutant(RateLimit):
    def pay(self, tx: Any, agent_id: str) -> None:
        super().pay(tx, f"{agent_id} in {os.getpid()}")


bus.RateLimit = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
