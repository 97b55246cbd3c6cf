"""A claim is stored, and its deadline in a transaction of its own."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.comms.lease import Leases
from refbus.driver import serve

KILLED_BY = ("comms.log.71",)
CHAOS = {"points": True, "only": "claim_message"}

_late: list[Any] = []
_now = Leases.store_delivery


def store_later(self: Leases, tx: Any, *told: Any) -> None:
    """A claim's; a completion is as it should be."""
    if told[2].status == "processing":
        _late.append((self, told))
    else:
        _now(self, tx, *told)


Leases.store_delivery = store_later


class DeadlineAfterwards(CommsBus):
    """Two commits."""

    def claim_message(self, *args: Any, **how: Any) -> Any:
        reply = super().claim_message(*args, **how)
        with self.store.transaction() as tx:
            while _late:
                noun, told = _late.pop(0)
                _now(noun, tx, *told)
        return reply


if __name__ == "__main__":
    serve({"comms": DeadlineAfterwards})
