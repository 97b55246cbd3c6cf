"""A known id is answered as if its content were the first."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import IdConflict

KILLED_BY = ("comms.log.66",)


class Mutant(CommsBus):
    def _is_known(self, connection: Any, envelope: Any) -> bool:
        try:
            return super()._is_known(connection, envelope)
        except IdConflict:
            return True


if __name__ == "__main__":
    serve({"comms": Mutant})
