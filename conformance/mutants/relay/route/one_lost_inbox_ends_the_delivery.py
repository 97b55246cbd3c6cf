"""Where one inbox takes nothing, those behind it in the batch get nothing either, and are told as served."""

from typing import Any

from refbus.driver import serve
from refbus.relay.bus import RelayBus
from refbus.relay.deliver import Delivery

KILLED_BY = ("relay.route.22",)

place, move = Delivery.place, Delivery._move
lost: list[str] = []


def placed(self: Delivery, payload: dict[str, Any]) -> list[int]:
    lost.clear()
    return place(self, payload)


def moved(self: Delivery, number: str, staged: int, recipient: str, name: str) -> bool:
    if lost:
        return True
    if not move(self, number, staged, recipient, name):
        lost.append(recipient)
        return False
    return True


Delivery.place, Delivery._move = placed, moved  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
