"""A dead letter does not say how often it was tried."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.11",)


class Mutant(CommsBus):
    def _bury(self, connection: Any, message_id: str, *args: Any) -> None:
        super()._bury(connection, message_id, *args)
        connection.execute("UPDATE dead_letter_queue SET retry_count = 0")


if __name__ == "__main__":
    serve({"comms": Mutant})
