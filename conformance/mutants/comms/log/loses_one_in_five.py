"""Every fifth send of a process is lost."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.69", "comms.lease.24")


class Mutant(CommsBus):
    sends = 0

    def _insert(self, connection: Any, envelope: Any, expires_at: Any) -> None:
        type(self).sends += 1
        if self.sends % 5:
            super()._insert(connection, envelope, expires_at)


if __name__ == "__main__":
    serve({"comms": Mutant})
