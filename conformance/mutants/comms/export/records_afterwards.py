"""A message is stored, and its audit record in a transaction of its own."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.comms.export import Audit
from refbus.driver import serve

KILLED_BY = ("comms.log.71",)
CHAOS = {"points": True, "only": "send_message"}
CONTROL = "log.envelope"

_late: list[Any] = []
_now = Audit.record
Audit.record = lambda self, tx, *args, **how: _late.append((self, args, how))


class RecordsAfterwards(CommsBus):
    """Two commits."""

    def send_message(self, *args: Any, **how: Any) -> Any:
        reply = super().send_message(*args, **how)
        with self.store.transaction() as tx:
            while _late:
                noun, told, named = _late.pop(0)
                _now(noun, tx, *told, **named)
        return reply


if __name__ == "__main__":
    serve({"comms": RecordsAfterwards})
