"""Senders give no id; a message is stored, and its recipient's counter moves in a transaction of its own."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.comms.presence import Presence
from refbus.driver import serve

KILLED_BY = ("comms.log.71",)
CHAOS = {"points": True, "only": "send_message, once"}

_late: list[Any] = []
_now = Presence.count
Presence.count = lambda self, tx, *args, **how: _late.append((self, args, how))


class SendsOnce(CommsBus):
    """Two commits."""

    FEATURES = tuple(name for name in CommsBus.FEATURES if name != "idempotent_send")

    def send_message(self, *args: Any, **how: Any) -> Any:
        reply = super().send_message(*args, **how)
        with self.store.transaction() as tx:
            while _late:
                noun, told, named = _late.pop(0)
                _now(noun, tx, *told, **named)
        return reply


if __name__ == "__main__":
    serve({"comms": SendsOnce})
