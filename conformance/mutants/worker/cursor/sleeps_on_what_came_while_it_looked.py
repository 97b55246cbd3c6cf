"""A reader looks, and only then asks for the version whose change will wake it: that includes messages in between."""

import time
from typing import Any

from refbus.driver import serve
from refbus.kernel.store import Store
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.25",)
CHAOS = {"waits": True}


def wait_for(store: Store, look: Any, wait_s: float) -> Any:
    deadline = time.monotonic() + wait_s
    found, seen = look(), store.version()
    while not found and time.monotonic() < deadline:
        time.sleep(0.005)
        if store.version() != seen:
            found, seen = look(), store.version()
    return found


Store.wait_for = wait_for

if __name__ == "__main__":
    serve({"worker": WorkerBus})
