"""A known id is refused, also with the same content."""

from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.driver import serve
from refbus.kernel.errors import IdConflict

KILLED_BY = ("comms.log.65",)


class Mutant(Log):
    def is_known(self, tx: Any, envelope: Any) -> bool:
        if super().is_known(tx, envelope):
            raise IdConflict("the id is taken")
        return False


bus.Log = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
