"""An open that is refused for its options leaves its lock held: nobody else can run the folder."""

from typing import Any

from refbus.driver import serve
from refbus.relay.bus import RelayBus
from refbus.relay.store import Store

KILLED_BY = ("relay.lease.17",)

_prepare = Store._prepare


def forgets_its_lock(store: Store, options: dict[str, Any]) -> None:
    try:
        _prepare(store, options)
    except BaseException:
        store.lock.release = lambda: None
        raise


Store._prepare = forgets_its_lock


if __name__ == "__main__":
    serve({"relay": RelayBus})
