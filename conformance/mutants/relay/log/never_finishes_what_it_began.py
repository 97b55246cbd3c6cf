"""A delivery that was begun when the orchestrator died is not finished by the next one."""

from refbus.driver import serve
from refbus.relay.bus import RelayBus
from refbus.relay.recovery import Recovery

KILLED_BY = ("relay.log.58",)
CHAOS = {"points": True, "only": "scan"}

Recovery._finish_operations = lambda _self: None  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
