"""A link in the place of an agent's folder is told as no folder, like anything else that may stand there."""

from refbus.driver import serve
from refbus.relay.bus import RelayBus
from refbus.relay.presence import Presence

KILLED_BY = ("relay.limit.16",)
ITEM = "limit.links"

_obstacle = Presence._obstacle


def tells_no_kind(presence: Presence, *parts: str) -> object:
    found = _obstacle(presence, *parts)
    return found and found._replace(event="not_regular")


Presence._obstacle = tells_no_kind

if __name__ == "__main__":
    serve({"relay": RelayBus})
