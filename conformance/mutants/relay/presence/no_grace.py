"""A released agent is killed as soon as it is told: its work stays half done."""

from refbus.driver import serve
from refbus.relay.bus import RelayBus
from refbus.relay.processes import Processes, Target

KILLED_BY = ("relay.presence.40",)

end = Processes.end


def at_once(self: Processes, targets: list[Target], _grace_ms: int) -> None:
    end(self, targets, 0)


Processes.end = at_once  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
