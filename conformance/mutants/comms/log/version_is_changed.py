"""Messages are of version 1."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.05",)


class Mutant(CommsBus):
    def _insert(self, connection: Any, envelope: Any, expires_at: Any) -> None:
        super()._insert(connection, envelope._replace(version="1"), expires_at)


if __name__ == "__main__":
    serve({"comms": Mutant})
