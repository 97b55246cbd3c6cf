"""The correlation id is forgotten."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.07", "comms.log.35")


class Mutant(CommsBus):
    def _insert(self, connection: Any, envelope: Any, expires_at: Any) -> None:
        super()._insert(connection, envelope._replace(correlation_id=None), expires_at)


if __name__ == "__main__":
    serve({"comms": Mutant})
