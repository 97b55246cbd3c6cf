"""A dead letter leaves its queue, and comes back in a transaction of its own. A kill between loses it."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.comms.retry import Retries
from refbus.driver import serve

KILLED_BY = ("comms.log.71",)
CHAOS = {"points": True, "only": "redrive"}

_late: list[Any] = []
_now = Retries.put_back
Retries.put_back = lambda self, tx, *args, **how: _late.append((self, args, how))


class RedrivesInTwoSteps(CommsBus):
    """Two commits."""

    def redrive(self, *args: Any, **how: Any) -> Any:
        reply = super().redrive(*args, **how)
        with self.store.transaction() as tx:
            while _late:
                noun, told, named = _late.pop(0)
                _now(noun, tx, *told, **named)
        return reply


if __name__ == "__main__":
    serve({"comms": RedrivesInTwoSteps})
