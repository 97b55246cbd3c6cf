"""What the bucket refuses is sent all the same."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import RateLimited

KILLED_BY = ("comms.limit.02",)


class Mutant(CommsBus):
    def _pay(self, connection: Any, agent_id: str) -> None:
        try:
            super()._pay(connection, agent_id)
        except RateLimited:
            self.__dict__["late"] = True

    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().send_message(*args, **kwargs)
        if self.__dict__.pop("late", False):
            raise RateLimited("too much")
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
