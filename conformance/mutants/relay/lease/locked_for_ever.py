"""The lock of a dead orchestrator holds."""

import json

from refbus.driver import serve
from refbus.relay import lock
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.lease.03",)

lock._living_holder = lambda content: json.loads(content)["pid"] if content else None

if __name__ == "__main__":
    serve({"relay": RelayBus})
