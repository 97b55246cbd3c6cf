"""Every fifth send of a process is lost."""

from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.driver import serve

KILLED_BY = ("comms.log.69", "comms.lease.24")


class Mutant(Log):
    sends = 0

    def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
        type(self).sends += 1
        if self.sends % 5:
            super().insert(tx, envelope, expires_at)


bus.Log = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
