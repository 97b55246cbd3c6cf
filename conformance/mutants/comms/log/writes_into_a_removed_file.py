"""The open file is believed: a write after somebody removed it is acknowledged, and gone."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.db import Database

KILLED_BY = ("comms.log.92",)

Database.refuse_another_file = lambda self, **how: None  # type: ignore[method-assign]


class Mutant(CommsBus):
    """The reference, without the look."""


if __name__ == "__main__":
    serve({"comms": Mutant})
