"""A ledger that is put back is all that is then known: an agent started since it was copied belongs to nobody."""

from refbus.driver import serve
from refbus.relay.bus import RelayBus
from refbus.relay.spawn import Spawns

KILLED_BY = ("relay.presence.41",)

Spawns.adopt = lambda self, running: None  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
