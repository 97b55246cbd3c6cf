"""A number alone in .lock is taken for a live orchestrator's, also of a process that has ended."""

from refbus.driver import serve
from refbus.relay import lock
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.lease.03",)

_living_holder = lock._living_holder
lock._living_holder = lambda content: int(content) if content.strip().isdigit() else _living_holder(content)

if __name__ == "__main__":
    serve({"relay": RelayBus})
