"""A ledger that is put back and knows a process of an agent keeps it, though that one has ended and another runs."""

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus
from refbus.relay.processes import Target
from refbus.relay.spawn import Spawns

KILLED_BY = ("relay.presence.42",)


def adopt(self: Spawns, running: list[tuple[str, Target]]) -> None:
    known = {name for name, _ in self._targets()}
    with self._store.transaction() as tx:
        for name, target in running:
            if name not in known:
                spawn._enter(tx, name, target)


Spawns.adopt = adopt  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
