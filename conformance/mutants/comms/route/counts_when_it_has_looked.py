"""A reader that saw nothing counts messages, and looks again if there are more: one that came meanwhile is counted."""

import time
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.store import Store

KILLED_BY = ("comms.route.46",)
CHAOS = {"waits": True}


def count(store: Store) -> int:
    return int(store.db.row("SELECT count(*) FROM messages")[0])


def wait_for(store: Store, look: Any, wait_s: float) -> Any:
    end = time.monotonic() + wait_s
    while not (found := look()) and time.monotonic() < end:
        before = count(store)
        while count(store) == before and time.monotonic() < end:
            time.sleep(0.005)
    return found


Store.wait_for = wait_for

if __name__ == "__main__":
    serve({"comms": CommsBus})
