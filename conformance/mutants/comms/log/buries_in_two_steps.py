"""The dead letter is written, then the message removed. A kill between the two leaves both."""

from typing import Any

from refbus.comms import bus
from refbus.comms.lease import Leases
from refbus.driver import serve

KILLED_BY = ("comms.log.71",)
CHAOS = {"points": True, "only": "complete_message to the dead letters"}


class BuriesInTwoSteps(Leases):
    """The letter commits with the failure; the message goes in a transaction of its own."""

    _buried: str | None = None

    def complete_message(self, *args: Any, **how: Any) -> Any:
        reply = super().complete_message(*args, **how)
        buried, self._buried = self._buried, None
        if buried is not None:
            with self.store.transaction() as tx:
                tx.execute("DELETE FROM messages WHERE id = ?", (buried,))
                tx.execute("DELETE FROM message_deliveries WHERE message_id = ?", (buried,))
        return reply

    def bury(self, tx: Any, message_id: str, agent_id: str, after: Any, error: str, is_broadcast: bool) -> None:
        super().bury(tx, message_id, agent_id, after, error, True)
        letter = "UPDATE dead_letter_queue SET id = ? WHERE original_message LIKE ?"
        tx.execute(letter, (message_id, f'%"{message_id}"%'))
        self._buried = message_id


bus.Leases = BuriesInTwoSteps


if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
