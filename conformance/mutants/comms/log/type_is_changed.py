"""A type is stored in capitals."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.04",)


class Mutant(CommsBus):
    def _insert(self, connection: Any, envelope: Any, expires_at: Any) -> None:
        super()._insert(connection, envelope._replace(type=envelope.type.upper()), expires_at)


if __name__ == "__main__":
    serve({"comms": Mutant})
