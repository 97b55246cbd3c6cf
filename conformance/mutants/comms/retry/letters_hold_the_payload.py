"""A dead letter keeps the payload alone."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.10", "comms.retry.12")


class Mutant(CommsBus):
    def _bury(self, connection: Any, message_id: str, *args: Any) -> None:
        super()._bury(connection, message_id, *args)
        connection.execute("UPDATE dead_letter_queue SET original_message = original_message -> '$.payload'")


if __name__ == "__main__":
    serve({"comms": Mutant})
