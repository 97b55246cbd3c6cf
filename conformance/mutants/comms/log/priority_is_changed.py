"""Priority 1 is the highest."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.11", "comms.route.08")


class Mutant(CommsBus):
    def _insert(self, connection: Any, envelope: Any, expires_at: Any) -> None:
        super()._insert(connection, envelope._replace(priority=11 - envelope.priority), expires_at)


if __name__ == "__main__":
    serve({"comms": Mutant})
