"""A broadcast that has expired lives again for all when one agent gets it back."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.18",)


class Mutant(CommsBus):
    def _remove_expired(self, connection: Any, only: str | None = None) -> int:
        return 0 if only else super()._remove_expired(connection)


if __name__ == "__main__":
    serve({"comms": Mutant})
