"""A message at which the orchestrator died stays in processing."""

from refbus.driver import serve
from refbus.relay.bus import RelayBus
from refbus.relay.recovery import Recovery

KILLED_BY = ("relay.log.59",)
CHAOS = {"kills": 24}

Recovery._finish_operations = lambda _self: None  # type: ignore[method-assign]
Recovery._release_claims = lambda _self: None  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
