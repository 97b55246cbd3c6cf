"""Messages have no time."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.06",)


class Mutant(CommsBus):
    def _insert(self, connection: Any, envelope: Any, expires_at: Any) -> None:
        super()._insert(connection, envelope._replace(timestamp="1970-01-01T00:00:00.000000Z"), expires_at)


if __name__ == "__main__":
    serve({"comms": Mutant})
