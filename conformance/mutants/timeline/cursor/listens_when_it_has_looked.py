"""A worker looks, and only then listens to the folder's events: one that came before rings no bell."""

import time
from typing import Any

from refbus.driver import serve
from refbus.kernel import wake
from refbus.kernel.store import Store
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.cursor.22",)
CHAOS = {"waits": True}


def wait_for(store: Store, look: Any, wait_s: float) -> Any:
    deadline = time.monotonic() + wait_s
    if found := look():
        return found
    with store.waiters.borrow() as waiter:
        while not found and (left_s := deadline - time.monotonic()) > 0:
            waiter.wait(left_s)
            found = look()
    return found


wake.SLEEP_S_MAX = 3600.0  # the bell alone
Store.wait_for = wait_for

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
