"""A late completion no longer counts once anybody has cleaned up."""

from typing import Any

from refbus.comms import bus
from refbus.comms.lease import Leases
from refbus.driver import serve

KILLED_BY = ("comms.lease.18",)


class Mutant(Leases):
    def is_let_go(self, tx: Any, message_id: str, agent_id: str) -> bool:
        return False


bus.Leases = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
