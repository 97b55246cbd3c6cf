"""A reader waits for writers."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel import db
from refbus.kernel.rules import retry

KILLED_BY = ("comms.log.29",)

db.BUSY_TIMEOUT_MS = 100
retry.LOCK_ATTEMPTS_MAX = 1


class Mutant(CommsBus):
    def _ready(self, *args: Any) -> list[dict[str, Any]]:
        with self.db.transaction():
            pass
        return super()._ready(*args)


if __name__ == "__main__":
    serve({"comms": Mutant})
