"""A dead letter keeps the payload alone."""

from typing import Any

from refbus.comms import bus
from refbus.comms.lease import Leases
from refbus.driver import serve

KILLED_BY = ("comms.retry.10", "comms.retry.12")


class Mutant(Leases):
    def bury(self, tx: Any, message_id: str, *args: Any) -> None:
        super().bury(tx, message_id, *args)
        tx.execute("UPDATE dead_letter_queue SET original_message = original_message -> '$.payload'")


bus.Leases = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
