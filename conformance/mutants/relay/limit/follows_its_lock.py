"""The lock is written wherever a link in its place leads."""

import os
import types

from refbus.driver import serve
from refbus.relay import lock
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.15",)

lock.os = types.SimpleNamespace(**{**vars(os), "O_NOFOLLOW": 0})

if __name__ == "__main__":
    serve({"relay": RelayBus})
