"""Asking for an agent that was never seen is a bad argument."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument, NotFound

KILLED_BY = ("comms.presence.07",)


class Mutant(CommsBus):
    def get_agent_health(self, agent_id: str) -> dict[str, Any]:
        try:
            return super().get_agent_health(agent_id)
        except NotFound as error:
            raise InvalidArgument(str(error)) from error


if __name__ == "__main__":
    serve({"comms": Mutant})
