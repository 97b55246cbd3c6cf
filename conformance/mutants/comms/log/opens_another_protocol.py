"""A project of another protocol version is opened."""

import contextlib

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import SchemaMismatch

KILLED_BY = ("comms.log.57",)


class Mutant(CommsBus):
    def _agree_on_version(self) -> None:
        with contextlib.suppress(SchemaMismatch):
            super()._agree_on_version()


if __name__ == "__main__":
    serve({"comms": Mutant})
