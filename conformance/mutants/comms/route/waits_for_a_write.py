"""A reader that waits looks again only when somebody has written: time alone gives it nothing."""

from collections.abc import Callable
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.store import Store

KILLED_BY = ("comms.route.47",)

wait_for = Store.wait_for


def after_a_write(store: Store, look: Callable[[], Any], wait_s: float) -> Any:
    seen: int | None = None

    def looks() -> Any:
        nonlocal seen
        before, seen = seen, store.version()
        return None if seen == before else look()

    return wait_for(store, looks, wait_s) or []


Store.wait_for = after_a_write  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"comms": CommsBus})
