"""A redriven message has priority 5 and is nobody's answer."""

from typing import Any

from refbus.comms import bus
from refbus.comms.retry import Retries
from refbus.driver import serve

KILLED_BY = ("comms.retry.13",)


class Mutant(Retries):
    def put_back(self, tx: Any, message: Any, agent_id: Any) -> None:
        super().put_back(tx, {**message, "priority": 5, "correlation_id": None}, agent_id)


bus.Retries = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
