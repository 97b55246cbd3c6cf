"""Copies are staged in the folder of an agent."""

from typing import Any

from refbus.driver import serve
from refbus.relay import deliver
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.08",)


stage = deliver.Delivery.stage


def staged(self: deliver.Delivery, copies: list[deliver.Copy]) -> Any:
    for copy in copies:
        (self._store.root / "agents" / copy.recipient / "copy.tmp").write_bytes(copy.data)
    return stage(self, copies)


deliver.Delivery.stage = staged


if __name__ == "__main__":
    serve({"relay": RelayBus})
