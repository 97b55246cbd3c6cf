"""A send stores nothing."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.01", "comms.log.16", "comms.log.27", "comms.route.04")


class Mutant(CommsBus):
    def _insert(self, connection: Any, envelope: Any, expires_at: Any) -> None:
        return


if __name__ == "__main__":
    serve({"comms": Mutant})
