"""A known id is refused, also with the same content."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import IdConflict

KILLED_BY = ("comms.log.65",)


class Mutant(CommsBus):
    def _is_known(self, connection: Any, envelope: Any) -> bool:
        if super()._is_known(connection, envelope):
            raise IdConflict("the id is taken")
        return False


if __name__ == "__main__":
    serve({"comms": Mutant})
