"""A broadcast that has expired lives again for all when one agent gets it back."""

from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.driver import serve

KILLED_BY = ("comms.retry.18",)


class Mutant(Log):
    def remove_expired(self, tx: Any, only: str | None = None) -> int:
        return 0 if only else super().remove_expired(tx)


bus.Log = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
