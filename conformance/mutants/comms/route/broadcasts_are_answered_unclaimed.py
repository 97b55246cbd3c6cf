"""A broadcast is answered by an agent that has not claimed it."""

from typing import Any

from refbus.comms import bus
from refbus.comms.request import Requests
from refbus.driver import serve

KILLED_BY = ("comms.route.42",)


class Mutant(Requests):
    def check_claimed(self, tx: Any, message_id: str, agent_id: str) -> None:
        return


bus.Requests = Mutant


if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
