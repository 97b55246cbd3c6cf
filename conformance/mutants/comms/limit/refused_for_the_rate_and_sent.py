"""A message that the bucket refuses is sent all the same."""

from typing import Any

from refbus.comms import bus
from refbus.comms.limit import RateLimit
from refbus.driver import serve
from refbus.kernel.errors import RateLimited

KILLED_BY = ("comms.limit.02",)
CONTROL = "limit.each_agent"


class Paid(RateLimit):
    is_late = False

    def pay(self, tx: Any, agent_id: str) -> None:
        try:
            super().pay(tx, agent_id)
        except RateLimited:
            self.is_late = True


bus.RateLimit = Paid


class Mutant(bus.CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> Any:
        self.rate.is_late = False
        reply = super().send_message(*args, **kwargs)
        if self.rate.is_late:
            raise RateLimited("too much")
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
